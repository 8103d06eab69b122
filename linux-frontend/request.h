/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - handles, and the requests somebody waits for (OPEN, STAT, PUBLISH, KEYS).
 *
 * A handle is held by the open file's table and by every request that names it.
 * When the last of them lets go it is closed at the backend, by itself and without
 * anybody waiting.  A waiter that gives up (timeout, fatal signal) leaves its
 * request to finish alone: what a late OPEN brings is closed the same way.
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
	u32 backend;    /* the backend's number for it */
	u32 generation; /* of the connection it belongs to */
	bool open;      /* the backend knows it */

	struct vread_req req; /* its CLOSE */
	struct list_head node;
};

void vread_handle_put(struct vread_handle *handle); /* any context */
/* For link.c. */
void vread_handle_want_close(struct vread_handle *handle);
int vread_handle_send_close(struct vread_handle *handle);

/* All wait (killable, freezable) up to their timeout_ms and return 0 or an errno of
 * vreadif.h, -ETIME, -EINTR or -EFAULT. */
int vread_open_block(struct vread_device *dev, struct vread_ioc_open *open,
		     struct vread_handle **ret);
int vread_stat_block(struct vread_handle *handle, struct vread_ioc_stat *stat);
int vread_publish_event(struct vread_device *dev, const struct vread_ioc_publish *publish);
int vread_publish_keys(struct vread_device *dev, const struct vread_ioc_keys *keys);

#endif
