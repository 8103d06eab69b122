/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transport.h - a way to move messages, and the bytes of DATA, between two hosts.
 *
 * A connection belongs to one thread at a time: the caller locks.  Nothing here waits.
 * What arrives is handed to the user from within advance().  DATA's bytes go to where the user
 * says; whoever moves them sees to it that only authenticated ones get there.
 */
#ifndef VREAD_PEER_TRANSPORT_H
#define VREAD_PEER_TRANSPORT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer/wire/message.h"

struct transport;

/* A message on its way out, with its header; DATA's bytes lie behind it. */
struct outgoing {
	struct outgoing *next;
	void (*release)(struct outgoing *o); /* it was sent, or never will be */
	void *owner;                         /* release()'s */
	size_t length, sent;
	uint8_t *message;
};

struct transport_user {
	/* All of a message is there; DATA's body is what place() said.  Negative errno: the
	 * connection is over. */
	int (*arrived)(void *ctx, const struct message_header *h, const uint8_t *body);
	/* Where the bytes of this DATA go: *ret_place, NULL: nowhere, they are dropped. */
	int (*place)(void *ctx, const struct message_header *h, uint8_t **ret_place);
};

#define TRANSPORT_MAX_FDS 4U

struct transport_ops {
	const char *name;
	/* Takes over o, which goes out after what was queued before. */
	void (*send)(struct transport *t, struct outgoing *o);
	/* Sends and receives what can be: 0: poll() before the next time; 1: there is more to do;
	 * negative errno: it is over, see t->error. */
	int (*advance)(struct transport *t);
	/* Only sends: as advance(). */
	int (*flush)(struct transport *t);
	/* Whether all that was sent is on its way. */
	bool (*is_flushed)(const struct transport *t);
	/* From its return nothing of the answer to that id lands any more: 0.  Negative errno: that
	 * takes all of the answer, or the end of the connection. */
	int (*forget)(struct transport *t, uint64_t id);
	/* Whether the peer would still be accepted if it connected now: 0, or negative errno: see
	 * t->error. */
	int (*recheck)(struct transport *t);
	/* What to poll() for: how many of TRANSPORT_MAX_FDS were filled in. */
	unsigned (*poll)(const struct transport *t, struct pollfd *fds);
	/* The orderly end is told to the peer.  Then, and after any failure, free(): when it
	 * returns nothing can land anywhere any more. */
	void (*shutdown)(struct transport *t);
	void (*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	const struct transport_user *user;
	void *ctx; /* the user's */
	char error[160];
};

/* Sends those bytes, from a copy.  0 or -ENOMEM. */
int transport_send_copy(struct transport *t, const uint8_t *message, size_t length);

#endif
