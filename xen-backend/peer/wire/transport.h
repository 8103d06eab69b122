/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transport.h - the interface of a connection that carries messages between two hosts.
 *
 * peer/asking/ and peer/answering/ use transports.  wire/stream.c (TLS) and peer/rdma/ implement
 * the interface.
 *
 * One thread at a time may use a transport: the caller locks.  No function waits.  advance() calls
 * the user's callbacks for what has arrived.  The bytes of DATA go to the place that the user
 * returns.  Each transport must place only bytes of the authenticated peer there.
 */
#ifndef VREAD_PEER_TRANSPORT_H
#define VREAD_PEER_TRANSPORT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer/wire/message.h"

struct transport;

/* A message to be sent, with its header; the bytes of DATA follow the header. */
struct outgoing {
	struct outgoing *next;
	void (*release)(struct outgoing *o); /* called when it was sent, or never will be */
	void *owner;                         /* for release() */
	size_t length, sent;
	bool encrypt; /* of a READ: the bytes of its answer must come encrypted */
	bool plain;   /* of a DATA: it goes in a frame (plain.h) */
	uint8_t *message;
};

struct transport_user {
	/* A whole message has arrived.  body of DATA: the place that place() returned.  0, or
	 * negative errno: the connection is over. */
	int (*arrived)(void *ctx, const struct message_header *h, const uint8_t *body);
	/* Sets *ret_place to where the bytes of this DATA go; NULL: they are dropped.  0, or
	 * negative errno: the connection is over. */
	int (*place)(void *ctx, const struct message_header *h, uint8_t **ret_place);
};

#define TRANSPORT_MAX_FDS 4U

struct transport_ops {
	const char *name;
	/* Takes over o and queues it behind the messages queued before. */
	void (*send)(struct transport *t, struct outgoing *o);
	/* Sends as much as possible now, and receives for one turn (wire/tls.h).  0: poll() before
	 * the next call; negative errno: the connection is over, see t->error. */
	int (*advance)(struct transport *t);
	/* As advance(), but only sends. */
	int (*flush)(struct transport *t);
	/* True if no message and no byte waits to be sent. */
	bool (*is_flushed)(const struct transport *t);
	/* 0: after the return no bytes of the answer to that id are placed any more.  Negative
	 * errno: bytes may be placed until the whole answer has arrived or the connection ends. */
	int (*forget)(struct transport *t, uint64_t id);
	/* Checks whether the peer would still be accepted if it connected now.  0, or negative
	 * errno, see t->error. */
	int (*recheck)(struct transport *t);
	/* Fills in what to poll() for.  fds has room for TRANSPORT_MAX_FDS.  Returns how many were
	 * filled in. */
	unsigned (*poll)(const struct transport *t, struct pollfd *fds);
	/* Tells the peer that the connection ends in order.  Call free() after it, and after any
	 * failure. */
	void (*shutdown)(struct transport *t);
	/* After the return no bytes are placed any more. */
	void (*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	const struct transport_user *user;
	void *ctx; /* the user's */
	char error[160];
};

/* A copy of the message, whose release() is free().  NULL: out of memory. */
struct outgoing *outgoing_new(const uint8_t *message, size_t length);
/* Queues a copy of the message.  0 or -ENOMEM. */
int transport_send_copy(struct transport *t, const uint8_t *message, size_t length);

#endif
