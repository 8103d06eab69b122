/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h - the queues of a device as one link to its backend.  connect.c opens the link, and takes
 * it up and down.  request.c, file.c and chardev.c put requests on it, and hold handles.
 *
 * The link has queues from vread_link_open() to vread_link_close().  It is up from vread_link_up()
 * to vread_link_down().  Each vread_link_up() begins a new generation.  Any function may be called
 * in any context unless its comment says otherwise.
 *
 * Who is woken.  A response wakes who waits for it, and pollers that wait for room on a ring
 * (EPOLLOUT), but nobody who only waits for completions of other READs.  The link's beginning and
 * end wake everybody.
 *
 * A handle is an open block at the backend, and belongs to one generation.  The table of the open
 * file and every request that names a handle hold a reference to it.  When the last reference is
 * given up, a CLOSE is sent to the backend, and nobody waits for its answer.
 */
#ifndef VREAD_LINK_H
#define VREAD_LINK_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "device.h"

struct vread_handle {
	struct kref ref;
	struct vread_device *dev;
	u32 backend;    /* the backend's number of the handle */
	u32 generation; /* of the connection that the handle belongs to */
	bool open;      /* the backend has opened the handle */

	struct vread_req req; /* the CLOSE of this handle */
	struct list_head node;
};

/* Process context, with dev->step held: the next six functions. */

/* Opens queues.  0 or negative errno. */
int vread_link_open(struct vread_device *dev, unsigned int queues, unsigned int ring_order);
/* Closes all queues.  The link must be down. */
void vread_link_close(struct vread_device *dev);
void vread_link_up(struct vread_device *dev);
/* Completes every request with -ENOTCONN and takes no more. */
void vread_link_down(struct vread_device *dev);

/* Takes the link down if the backend died. */
void vread_link_check(struct vread_device *dev);

/* True if the backend still has its mapping of the ring.  The rings must not go away meanwhile:
 * for example, the caller holds the lock of a live queue. */
bool vread_link_alive(const struct vread_device *dev);
/* Queues the device's work, which takes the link down, if the backend died under a live link.  True
 * if so. */
bool vread_link_recheck(struct vread_device *dev);

/* Puts a request on one of the queues, and charges req->user for it, who must exist until
 * vread_link_taken().  0, -EAGAIN: all queues are full, or the user's share is used up, or
 * -ENOTCONN: the link is down or has another generation. */
int vread_link_put(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
		   u32 generation);
/* Ends the charge.  req->complete calls it. */
void vread_link_taken(struct vread_req *req);
/* True if a request of the user could be put now; NULL: of nobody. */
bool vread_link_has_room(struct vread_device *dev, struct vread_user *user);

/* A handle that is not open yet, with one reference.  NULL: no memory.  Process context only. */
struct vread_handle *vread_handle_create(struct vread_device *dev, u32 generation);
/* Gives up a reference.  The next vread_link_flush_closes() sends the CLOSE. */
void vread_handle_put(struct vread_handle *handle);
/* Sends the CLOSEs of handles that nobody holds any more, as far as there is room. */
void vread_link_flush_closes(struct vread_device *dev);

/* Wakes all threads that wait for the link or for READs of an open file.  Process context. */
void vread_link_wake_all(struct vread_device *dev);

#endif
