/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.h - the local port: frontends on this host, over a UNIX socket. control/daemon.c starts and
 * stops the port.
 *
 * vread-local.h is the protocol. The socket's mode and folder decide who may connect. The port's
 * one policy decides what the frontends may read, and for which datanodes those of the users in
 * publish_uids may publish.
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
	const char *publish_uids;    /* user ids separated by one space; as long as they count */
	unsigned max_connections;
	uint32_t max_pool_pages;       /* of one connection */
	uint32_t max_total_pool_pages; /* of all connections, rings included */
};

/* Listens; 0, or negative errno (logged).  The settings are copied. */
int local_port_start(struct local_port **ret, sd_event *event,
		     const struct local_settings *settings, const struct port_events *events);
/*
 * Sets publish_uids for all connections, and the limits for new connections. Existing connections
 * stay. Socket, mode and policy do not change.
 */
void local_port_set(struct local_port *p, const struct local_settings *settings);
/* Removes the socket and begins the end of every connection.  NULL is ignored. */
void local_port_close(struct local_port *p);
/* Every session must have ended (ring/session.h).  NULL is ignored. */
void local_port_free(struct local_port *p);

/* New references, for the status document. */
json_t *local_port_status(const struct local_port *p);
json_t *local_port_devices(const struct local_port *p);

#endif
