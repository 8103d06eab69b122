/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h - the queues of a device as one link to its backend.  xenbus.c opens the link, and takes
 * it up and down.  request.c, file.c and chardev.c put requests on it.
 *
 * The link has queues from vread_link_open() to vread_link_close().  It is up from vread_link_up()
 * to vread_link_down().  Each vread_link_up() begins a new generation.  Any function may be called
 * in any context unless its comment says otherwise.
 */
#ifndef VREAD_LINK_H
#define VREAD_LINK_H

#include "device.h"

/* The next three functions: process context only. */

/* Opens queues.  0, or negative errno, which it has reported to xenbus. */
int vread_link_open(struct vread_device *dev, unsigned int queues, unsigned int ring_order);
/* Closes all queues.  The link must be down. */
void vread_link_close(struct vread_device *dev);
void vread_link_up(struct vread_device *dev);
/* Completes every request with -ENOTCONN and takes no more.  unmapped: the backend can no longer
 * write to the pool. */
void vread_link_down(struct vread_device *dev, bool unmapped);

/* True if the backend still has its mapping of the ring.  The rings must not go away meanwhile:
 * for example, the caller holds the lock of a live queue. */
bool vread_link_alive(const struct vread_device *dev);
/* Takes the link down if the backend died.  True: this call took the link down. */
bool vread_link_check(struct vread_device *dev);

/* Puts a request on one of the queues.  0, -EAGAIN: all queues are full, or -ENOTCONN: the link is
 * down or has another generation. */
int vread_link_put(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
		   u32 generation);
bool vread_link_has_room(struct vread_device *dev);
/* Sends the CLOSEs of handles that nobody holds any more, as far as there is room. */
void vread_link_flush_closes(struct vread_device *dev);
/* Wakes all threads that wait for the link or for READs of an open file. */
void vread_link_wake_all(struct vread_device *dev);

#endif
