/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reload.h - applies a new configuration to the running daemon.
 *
 * Called by daemon.c, on SIGHUP and on the command "reload" of the control socket.
 *
 * Settings that can change while guests read are changed here, and each change is described in a
 * text.  For all other settings restart.h says that they need a restart.
 */
#ifndef VREAD_RELOAD_H
#define VREAD_RELOAD_H

#include <jansson.h>
#include <stdbool.h>

struct config;
struct datanodes;
struct ivshmem_port;
struct local_port;
struct peers;
struct policy;
struct xen_port;

/* The running parts of the daemon.  local, local_policy, xen and peers are NULL if they do not
 * run. */
struct reload_parts {
	struct datanodes *datanodes;
	struct local_port *local;
	struct policy *local_policy;
	struct xen_port *xen;
	struct ivshmem_port *ivshmem; /* always runs */
	struct peers *peers;
	bool keep_log_level;
};

/* Changes what differs between `was`, the configuration applied before, and c.  c must stay valid
 * until the next configuration is applied.  New reference: the answer to "reload" (control.h),
 * without "restart". */
json_t *reload_apply(const struct reload_parts *p, const struct config *was,
		     const struct config *c);
/* Logs the problems of a configuration that could not be loaded.  Takes over problems; NULL: out of
 * memory.  New reference: the answer to "reload" (control.h). */
json_t *reload_refused(json_t *problems);

#endif
