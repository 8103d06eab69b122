/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest.h - the guests of [ivshmem NAME] sections, each with a socket for its QEMU. main.c makes
 * and changes the guests; backend.c tells vreadd about them.
 *
 * A guest lives until its section is gone, its QEMU's connection has ended, and vreadd knows that.
 *
 * The kernel counts descriptors that nobody has taken from a socket against the user of this
 * program, also after the socket was closed. So the socket of a QEMU is kept, and no other QEMU is
 * accepted, until the QEMU has taken all descriptors or has closed its end.
 */
#ifndef VREAD_IVSHMEM_GUEST_H
#define VREAD_IVSHMEM_GUEST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/pace.h"
#include "ivshmem-server/share.h"

struct config;
struct config_ivshmem;

struct guest {
	struct guests *all;
	struct guest *next;
	char name[64];
	char log_name[80]; /* "kvm:NAME" */
	char *path;        /* of the socket */
	mode_t mode;
	size_t memory; /* for the next connection, as `queues` */
	unsigned queues;
	bool configured;  /* the configuration has its section */
	int listener;     /* -1: none */
	struct stat made; /* of the socket's file, when it was made */
	sd_event_source *listener_io;
	int qemu; /* -1: none is connected. Without `connection`: it has descriptors to take */
	sd_event_source *qemu_io;
	struct pace pace;         /* of connects */
	struct guest_share share; /* while a QEMU is connected */
	uint64_t connection;      /* number of the QEMU's connection; 0: none */
	uint64_t told;            /* the connection that vreadd knows; 0: none. Of backend.c */
};

struct guests {
	sd_event *event;
	struct guest *first;
	uint64_t num_connections; /* the number of the newest connection */
	int spare_fd;
	/* A guest has come or gone. */
	void (*changed)(void *ctx);
	void *ctx;
};

/* Adds, changes and removes guests: afterwards they are those of the configuration. */
void guests_set(struct guests *all, const struct config *config);
/* Frees the guests that nobody needs any more. */
void guests_tidy(struct guests *all);
/* Removes all sockets, and closes everything. */
void guests_free(struct guests *all);

#endif
