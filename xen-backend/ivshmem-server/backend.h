/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend.h - the socket for vreadd: tells vreadd which guests are there, and tells guests when
 * vreadd has ended. main.c starts and stops it; port/ivshmem/server_protocol.h is the protocol.
 */
#ifndef VREAD_IVSHMEM_BACKEND_H
#define VREAD_IVSHMEM_BACKEND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bell.h"
#include "ivshmem-server/guest.h"

struct backend {
	struct guests *guests;
	struct bell *bell;
	char *path;
	int listener, vreadd; /* -1: none */
	pid_t pid;            /* of vreadd */
	int process;          /* its pidfd; -1: unknown */
	bool leaving;         /* the socket is closed, and the process has not ended yet */
	int spare_fd;
	sd_event_source *listener_io, *vreadd_io;
};

/* Listens on path; 0, or negative errno (logged). `guests` must outlive the backend. */
int backend_start(struct backend *b, struct guests *guests, const char *path);
/* Tells vreadd of all guests that have come and gone since the last time. */
void backend_tell(struct backend *b);
/* Does not tell guests: a vreadd that is connected sees the end, and does it. */
void backend_stop(struct backend *b);

#endif
