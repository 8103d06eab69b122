/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device.h - a vread device in xenstore as the toolstack sees it: its two
 * directories, made with libxl's permissions and removed in one transaction.
 */
#ifndef VREAD_XS_DEVICE_H
#define VREAD_XS_DEVICE_H

#include <stdbool.h>
#include <xenstore.h>

struct xs_device {
	struct xs_handle *xs;
	unsigned domid, id, backend_domid;
	char frontend[96];
	char backend[96];
};

/* What only dom0 may say about the device. */
struct xs_device_policy {
	const char *role;
	const char *allow_datanodes;
	const char *allow_pools;
	unsigned limit_queues, limit_pool_pages; /* 0: as many as the backend offers */
};

/* Connects and fills in the paths; 0, or an exit code after printing what is wrong. */
int xs_device_init(struct xs_device *d, unsigned domid, unsigned id);
void xs_device_done(struct xs_device *d);

/* 0 or negative errno: -EEXIST, -ESRCH no such domain. */
int xs_device_create(struct xs_device *d, const struct xs_device_policy *policy);
/* What a negative errno of these functions means, with what xenstored's quotas have to do with it; static
 * text until the next call. */
const char *xs_device_error(int r);
/* Asks backend and frontend to let go. -ENOENT */
int xs_device_close(struct xs_device *d);
/* Removes both directories, and their parents where nothing else is in them. */
int xs_device_remove(struct xs_device *d);
/* The backend's enum xenbus_state; 0 if there is none. */
unsigned xs_device_state(struct xs_device *d);
/* Until the backend's state is `wanted` (or gone, if gone_too): 0 or -ETIME. */
int xs_device_wait(struct xs_device *d, unsigned wanted, bool gone_too, unsigned seconds);

#endif
