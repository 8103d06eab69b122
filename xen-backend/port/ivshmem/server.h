/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - vreadd's connection to vread-ivshmem; private to the port. ivshmem.c starts and stops
 * it; server_protocol.h is the protocol.
 */
#ifndef VREAD_IVSHMEM_SERVER_H
#define VREAD_IVSHMEM_SERVER_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "port/ivshmem/server_protocol.h"

struct ivshmem_server_handlers {
	/* A message, with the descriptors that came along. The handler takes the descriptors
	 * over. False: the message is wrong; the connection is closed. */
	bool (*message)(void *ctx, const struct ivshmem_message *m, int *fds, unsigned num_fds);
	/* vread-ivshmem has ended. */
	void (*lost)(void *ctx);
};

struct ivshmem_server {
	sd_event *event;
	char *path;
	const struct ivshmem_server_handlers *handlers;
	void *ctx;
	int fd; /* -1: not connected */
	sd_event_source *io;
	struct timer *retry;
	bool started;
	bool told;    /* the log says that there is no connection */
	bool refused; /* the last connection ended because another vreadd had one */
	bool waits;   /* a message stays unread until there are descriptors for it */
	char last_error[160];
};

/* Prepares the connection; 0 or negative errno. */
int ivshmem_server_prepare(struct ivshmem_server *s, sd_event *event, const char *path,
			   const struct ivshmem_server_handlers *handlers, void *ctx);
/* Connects, and again after each end. Does nothing if it was called before. */
void ivshmem_server_start(struct ivshmem_server *s);
/* No new connection from now on. */
void ivshmem_server_stop(struct ivshmem_server *s);
/* Closes the connection. */
void ivshmem_server_close(struct ivshmem_server *s);

#endif
