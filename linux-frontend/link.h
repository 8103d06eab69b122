/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h - the queues of a device as one link to its backend.
 *
 * The link is up from vread_link_up() to vread_link_down() and each time it is,
 * that is a new generation.  Any context unless said.
 */
#ifndef VREAD_LINK_H
#define VREAD_LINK_H

#include "device.h"

/* Process context. */
void vread_link_up(struct vread_device *dev);
/* Answers every request with ENOTCONN and takes no more.  unmapped: the backend cannot
 * touch the pool any longer. */
void vread_link_down(struct vread_device *dev, bool unmapped);

/* Is the backend's mapping of the ring still there?  The caller holds the lock of a
 * live queue, or rings otherwise cannot go away. */
bool vread_link_alive(const struct vread_device *dev);
/* Takes the link down if the backend died; true if so just now. */
bool vread_link_check(struct vread_device *dev);

/* For ring.c: the backend broke the protocol; responses made room. */
void vread_link_fault(struct vread_device *dev, unsigned int queue, const char *what);
void vread_link_progress(struct vread_device *dev);

/* Puts a request on one of the queues: 0, -EAGAIN (all full) or -ENOTCONN. */
int vread_link_put(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
		   u32 generation);
bool vread_link_has_room(struct vread_device *dev);
/* Sends the CLOSEs of handles that were let go of, as far as there is room. */
void vread_link_flush_closes(struct vread_device *dev);
void vread_link_wake_all(struct vread_device *dev);

#endif
