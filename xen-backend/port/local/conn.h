/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn.h - private to the local port: one frontend on its socket.
 */
#ifndef VREAD_LOCAL_CONN_H
#define VREAD_LOCAL_CONN_H

#include <stdatomic.h>
#include <sys/types.h>

#include "port/local/local.h"
#include "port/local/share.h"

struct local_conn {
	struct port_conn conn;
	struct local_port *port;
	struct local_conn *next;
	int fd;
	sd_event_source *io;
	struct timer *deadline;
	pid_t pid;
	uid_t uid;
	uint32_t pages; /* taken of the port's total; 0 before the hello */
	struct share share;
	void *session; /* NULL before the hello */
	_Atomic(const char *) failure;
};

struct local_port {
	sd_event *event;
	struct local_settings settings;
	char *path;
	int fd, spare_fd;
	sd_event_source *io, *failed_io;
	int failed_fd; /* eventfd: a worker has set some connection's failure */
	struct port_events events;
	struct local_conn *conns;
	unsigned num_waiting;   /* no hello yet */
	unsigned num_connected; /* have a session */
	uint32_t pages;
	uint64_t num_accepted; /* numbers connections */
	uint64_t num_refused, num_failed;
	char last_error[160];
};

/* Takes over fd, a socket just accepted. */
void local_conn_start(struct local_port *port, int fd);
/* Ends the connection, whatever state it is in, and frees it. */
void local_conn_end(struct local_conn *c);

extern const struct port_conn_ops local_conn_ops;

#endif
