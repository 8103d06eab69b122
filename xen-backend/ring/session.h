/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.h - the server side of the protocol, for any port. control/daemon.c creates the server.
 * The ports report connections to it.
 *
 * The server turns each connection that a port reports into a session: workers for each queue,
 * a handle table, counters. All functions belong to the control thread, and none but
 * session_server_wait() waits for a worker, a disk or a peer.
 */
#ifndef VREAD_SESSION_H
#define VREAD_SESSION_H

#include <jansson.h>

#include "port/port.h"

struct block_store;
struct peers;
struct session_server;

/*
 * store and peers must outlive the server. peers NULL: no other host is read. event: the loop that
 * learns of the end of sessions. Returns NULL: out of memory or descriptors.
 */
struct session_server *session_server_new(struct block_store *store, struct peers *peers,
					  sd_event *event);
/*
 * Waits for the end of every session, which may take as long as a disk hangs. The ports must have
 * called disconnect() for all of them.
 */
void session_server_wait(struct session_server *s);
/* Every session must have ended. NULL is ignored. */
void session_server_free(struct session_server *s);

/* The functions that a port calls. */
struct port_events session_server_events(struct session_server *s);

/*
 * Counters of the connection with that name; NULL: no such connection, or it is ending. New
 * reference.
 */
json_t *session_server_device(struct session_server *s, const char *conn_name);
/* Counters of all connections since the start; new reference. */
json_t *session_server_totals(struct session_server *s);

#endif
