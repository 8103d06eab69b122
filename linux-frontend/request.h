/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - handles, and the requests that a thread waits for: OPEN, STAT, PUBLISH and KEYS.
 * chardev.c calls these functions for ioctls.
 *
 * The table of the open file and every request that names a handle hold a reference to it.  When
 * the last reference is given up, a CLOSE is sent to the backend, and nobody waits for its answer.
 * A thread that gives up waiting (timeout, fatal signal) leaves its request in flight.  If a late
 * OPEN succeeds, its handle is closed in the same way.
 */
#ifndef VREAD_REQUEST_H
#define VREAD_REQUEST_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "device.h"
#include "vread_ioctl.h"

struct vread_handle {
	struct kref ref;
	struct vread_device *dev;
	u32 backend;    /* the backend's number of the handle */
	u32 generation; /* of the connection that the handle belongs to */
	bool open;      /* the backend has opened the handle */

	struct vread_req req; /* the CLOSE of this handle */
	struct list_head node;
};

void vread_handle_put(struct vread_handle *handle); /* any context */

/* Called by link.c.  Both take over the handle. */

/* Queues the CLOSE, or frees the handle if its connection is gone. */
void vread_handle_want_close(struct vread_handle *handle);
/* Sends the CLOSE.  0, or as vread_link_put(): the handle stays the caller's. */
int vread_handle_send_close(struct vread_handle *handle);

/* All wait (killable, freezable) up to their timeout_ms, 0: no limit.  0, a negative errno of
 * vreadif.h, -ETIME, -EINTR (fatal signal) or -EFAULT. */
int vread_open_block(struct vread_device *dev, struct vread_ioc_open *open,
		     struct vread_handle **ret);
int vread_stat_block(struct vread_handle *handle, struct vread_ioc_stat *stat);
int vread_publish_event(struct vread_device *dev, const struct vread_ioc_publish *publish);
int vread_publish_keys(struct vread_device *dev, const struct vread_ioc_keys *keys);

#endif
