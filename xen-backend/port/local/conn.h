/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn.h - one frontend of the local port on its socket; private to the local port. local.c starts
 * and ends connections.
 */
#ifndef VREAD_LOCAL_CONN_H
#define VREAD_LOCAL_CONN_H

#include <stdatomic.h>
#include <sys/types.h>

#include "port/local/local.h"
#include "port/local/share.h"
#include "port/local/users.h"

struct local_conn {
	struct port_conn conn;
	struct local_port *port;
	struct local_conn *next;
	int fd; /* -1: closed, because the connection is over and nothing more is to come */
	sd_event_source *io;
	struct timer *deadline; /* of the hello */
	pid_t pid;
	struct local_user *user;
	uint64_t held[LOCAL_PLACES]; /* what the user holds for this connection */
	struct share share;
	void *session; /* NULL before the hello, and when the session has ended */
	bool queued;   /* its hello waits until earlier answers have been read */
	bool over;
	bool handed_out; /* the frontend got the descriptors */
	bool given_back; /* and reads the memory no more */
	_Atomic(const char *) failure;
};

struct local_port {
	sd_event *event;
	struct local_settings settings;
	char *path;
	int fd, spare_fd;
	sd_event_source *io, *failed_io;
	int failed_fd; /* eventfd: a worker has set the failure of a connection */
	struct port_events events;
	struct local_conn *conns; /* the oldest first */
	uint64_t num_accepted;    /* the number in the newest connection's name */
	struct local_users users;
	uint64_t num_refused, num_failed;
	uint64_t num_too_often; /* among num_refused: a user connected too often */
	char last_error[160];
};

/* Starts a connection. Takes over fd, an accepted socket. */
void local_conn_start(struct local_port *port, int fd);
/*
 * Ends the connection. Frees c when its session has ended and the frontend has read its answer and
 * hung up, or at once. Until then c holds its places. If the port closes, c does not wait for the
 * frontend to hang up: then call this again for a connection that is over.
 */
void local_conn_end(struct local_conn *c);
/* Frees a connection without a session at once. */
void local_conn_free(struct local_conn *c);

/* Why a connection without a session that is over is still there. */
const char *local_conn_awaits(const struct local_conn *c);

/* Decides whether the connection may publish, by its user and the port's publish_uids. */
void local_conn_set_rights(struct local_conn *c);

extern const struct port_conn_ops local_conn_ops;

#endif
