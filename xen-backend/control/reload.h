/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reload.h - a new configuration under a running daemon.
 *
 * What can be changed while guests read is changed here, and each change is put into words; what
 * cannot, restart.h tells.
 */
#ifndef VREAD_RELOAD_H
#define VREAD_RELOAD_H

#include <jansson.h>
#include <stdbool.h>

struct config;
struct datanodes;
struct local_port;
struct peers;
struct policy;
struct xen_port;

/* What runs; ports that do not are NULL. */
struct reload_parts {
	struct datanodes *datanodes;
	struct local_port *local;
	struct policy *local_policy;
	struct xen_port *xen;
	struct peers *peers;
	bool keep_log_level;
};

/* Changes what differs between c and what was applied before it; c stays as long as it is the
 * newest.  New reference: what reload answers (control.h), but for "restart". */
json_t *reload_apply(const struct reload_parts *p, const struct config *was,
		     const struct config *c);
/* A configuration that was not to be had: the answer, logged.  Takes over problems. */
json_t *reload_refused(json_t *problems);

#endif
