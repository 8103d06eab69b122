/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.h - the local port: frontends on this host, over a UNIX socket.
 *
 * vread-local.h is the protocol.  Who may connect is decided by the socket's
 * mode and folder; what they may read by the port's one policy.
 */
#ifndef VREAD_LOCAL_PORT_H
#define VREAD_LOCAL_PORT_H

#include <jansson.h>

#include "port/port.h"

struct local_port;

struct local_settings {
	const char *socket;
	mode_t mode;
	const struct policy *policy; /* must outlive the port */
	unsigned max_connections;
	uint32_t max_pool_pages;       /* of one connection */
	uint32_t max_total_pool_pages; /* of all, rings included */
};

/* Listens; 0, or negative errno (logged).  The settings are copied. */
int local_port_start(struct local_port **ret, sd_event *event,
		     const struct local_settings *settings, const struct port_events *events);
/* For connections from now on; those there are stay.  Socket, mode and policy do not change. */
void local_port_set_limits(struct local_port *p, const struct local_settings *settings);
/* Ends every connection and removes the socket.  NULL is ignored. */
void local_port_stop(struct local_port *p);

/* New references, for the status document. */
json_t *local_port_status(const struct local_port *p);
json_t *local_port_devices(const struct local_port *p);

#endif
