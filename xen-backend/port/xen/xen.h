/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen.h - the Xen port: frontends in guests. control/daemon.c starts and stops the port.
 *
 * The port follows the backend directories of xenstore through the states that vreadif.h draws, and
 * maps what the frontends grant.
 */
#ifndef VREAD_XEN_PORT_H
#define VREAD_XEN_PORT_H

#include <jansson.h>
#include <stdbool.h>

#include "port/port.h"

struct xen_port;

/* The limits offered to every device. */
struct xen_settings {
	unsigned max_queues;
	unsigned max_ring_page_order;
	uint32_t max_pool_pages;
};

/* True if there is a xenstore to which this process may connect. */
bool xen_store_answers(void);
/* 0; -ENODEV: there is no Xen (not logged); other negative errno (logged). */
int xen_port_start(struct xen_port **ret, sd_event *event, const struct xen_settings *settings,
		   const struct port_events *events);
/* Sets the limits for devices that are offered something from now on. */
void xen_port_set_limits(struct xen_port *p, const struct xen_settings *settings);
/*
 * Begins to close every device: state Closing now, so that frontends know at once, and Closed when
 * its session has ended.  NULL is ignored.
 */
void xen_port_close(struct xen_port *p);
/* Every session must have ended (ring/session.h).  NULL is ignored. */
void xen_port_free(struct xen_port *p);

/* New references, for the status document. */
json_t *xen_port_status(const struct xen_port *p);
json_t *xen_port_devices(const struct xen_port *p);

#endif
