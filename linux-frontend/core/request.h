/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - the requests that a thread waits for: OPEN, STAT, PUBLISH and KEYS.  chardev.c calls
 * these functions for ioctls.
 *
 * A thread that gives up waiting (timeout, fatal signal) leaves its request in flight.  If a late
 * OPEN succeeds, its handle is closed, because nobody else holds the handle.
 */
#ifndef VREAD_REQUEST_H
#define VREAD_REQUEST_H

#include "device.h"
#include "vread_ioctl.h"

struct vread_handle;

/* user: who is charged.  All wait (killable, freezable) up to their timeout_ms, 0: no limit.  0, a
 * negative errno of vreadif.h, -ETIME, -EINTR (fatal signal) or -EFAULT. */
int vread_open_block(struct vread_device *dev, struct vread_user *user, struct vread_ioc_open *open,
		     struct vread_handle **ret);
int vread_stat_block(struct vread_handle *handle, struct vread_user *user,
		     struct vread_ioc_stat *stat);
int vread_publish_event(struct vread_device *dev, struct vread_user *user,
			const struct vread_ioc_publish *publish);
int vread_publish_keys(struct vread_device *dev, struct vread_user *user,
		       const struct vread_ioc_keys *keys);

#endif
