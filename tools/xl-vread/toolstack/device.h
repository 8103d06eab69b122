/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device.h - creates, watches and removes the two xenstore directories of a vread device, as a
 * toolstack does.  Called by attach.c and by the commands of xl-vread(8).
 *
 * The directories get the permissions that libxl gives.  Both are created in one transaction, and
 * removed in one.  Keys of a datanode are written in another, because another toolstack may have
 * made the device.
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
	char datanode[112]; /* of the keys */
};

/* Settings of the device that only dom0 may write. */
struct xs_device_policy {
	const char *role;
	const char *allow_datanodes;
	const char *allow_pools;
	const char *publish_datanodes;           /* "": none */
	const char *unnamed_datanodes;           /* "": none */
	unsigned limit_queues, limit_pool_pages; /* 0: as many as the backend offers */
};

/* The keys by which vreadd serves disks of the domain (docs/provisioning.md). */
struct xs_device_keys {
	const char *name, *data_dirs, *disks;
	const char *backing_folders, *tokens; /* NULL: no such key */
};

/* Connects to xenstore and sets the paths.  CLI_OK, or an exit code of cli.h after printing what is
 * wrong. */
int xs_device_init(struct xs_device *d, unsigned domid, unsigned id);
void xs_device_done(struct xs_device *d);

/* 0 or negative errno.  -EEXIST: the domain has this device.  -ESRCH: there is no such domain. */
int xs_device_create(struct xs_device *d, const struct xs_device_policy *policy);
/* True if the device has exactly this policy.  False also if the device does not exist, or if
 * xenstore cannot be read. */
bool xs_device_has_policy(struct xs_device *d, const struct xs_device_policy *policy);
/* Has the backend directory have these keys; leaves other keys as they are.  0, -EALREADY: it has
 * them, -ENOENT: there is no such device; other negative errno. */
int xs_device_provision(struct xs_device *d, const struct xs_device_keys *keys);
/* A text for a negative errno of these functions.  If a quota of xenstored may be the cause, the
 * text says so.  Static: valid until the next call. */
const char *xs_device_error(int r);
/* Asks backend and frontend to close, and removes the keys: the disks are no longer served.  0 or
 * negative errno.  -ENOENT: there is no such device. */
int xs_device_close(struct xs_device *d);
/* Removes both directories, and their parents that are then empty.  0 or negative errno. */
int xs_device_remove(struct xs_device *d);
/* The backend's enum xenbus_state.  0: the node is missing or malformed. */
unsigned xs_device_state(struct xs_device *d);
/* A set of states for xs_device_wait().  State 0 is xs_device_state()'s: the device is gone. */
#define XS_STATE(state) (1U << (state))
/* Waits until the backend's state is one of the set `wanted`.  Returns 0, -ETIME, or another
 * negative errno: the state cannot be watched. */
int xs_device_wait(struct xs_device *d, unsigned wanted, unsigned seconds);
/* Waits until the backend has said what became of the keys; free() *ret.  Returns as
 * xs_device_wait(). */
int xs_device_wait_status(struct xs_device *d, unsigned seconds, char **ret);

#endif
