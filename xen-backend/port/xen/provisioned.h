/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provisioned.h - the datanodes that toolstacks provision by keys in xenstore
 * (docs/provisioning.md): watches the keys and the disks that they name, and writes what became of
 * them. control/datanodes.c decides that. What a gone domain leaves, xenbus.c removes.
 *
 * All functions are for the control thread. They wait for xenstored only.
 */
#ifndef VREAD_XEN_PROVISIONED_H
#define VREAD_XEN_PROVISIONED_H

#include <systemd/sd-event.h>

#include "keys/keys.h"

struct xen_provisioned;

/*
 * Reads the keys, and calls changed on the event loop when they may be others. 0; -ENODEV: there is
 * no xenstore; other negative errno (logged).
 */
int xen_provisioned_start(struct xen_provisioned **ret, sd_event *event, void (*changed)(void *ctx),
			  void *ctx);
void xen_provisioned_stop(struct xen_provisioned *p); /* NULL is ignored */

/* The keys as they were read last. Valid until the next event. */
const struct keys_list *xen_provisioned_keys(const struct xen_provisioned *p);
/* Writes the node `status` of number i of these keys, if the keys are still there. */
void xen_provisioned_tell(struct xen_provisioned *p, size_t i, const char *status);

#endif
