/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - one connection to one peer, made when there is something to ask.
 *
 * A link is idle until it is given a request.  Then a thread connects, says hello and carries
 * requests there and answers back, until nothing was asked for a while.  Owners of requests take
 * turns.  If anything goes wrong, or a request is overdue and nothing at all was answered since it
 * was sent, the connection is given up, and with it all that was under way; for a pause, which grows
 * from failure to failure, requests fail at once.  If something was answered meanwhile, or the request
 * waited too long to be sent, only that one ends.  An idle link is a few hundred bytes: no thread, no
 * descriptor.
 *
 * Threads: any, but for new and free.
 */
#ifndef VREAD_PEER_LINK_H
#define VREAD_PEER_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer/wire/message.h"

#define LINK_CANCEL_TIMEOUT 400U /* ms */

struct address;
struct link;
struct rdma;
struct tls_context;

/* One question.  The link owns it from link_ask() until it calls done, which frees it. */
struct link_request {
	struct link_request *next;        /* an owner's first: the next owner's */
	struct link_request *same, *last; /* of the same owner; last: an owner's first knows it */
	const void *owner;                /* link_stop() ends all of an owner's */
	uint64_t epoch;   /* the connection it is for, as told by link_epoch(); 0: any */
	uint64_t expires; /* ms, clock_ms(): if it was not answered by then it ends */
	uint8_t *place;   /* where DATA goes ... */
	uint32_t room;    /* ... at most so many bytes ... */
	uint32_t placed;  /* ... and so many are there */
	bool silent;      /* it has no answer: done is called when it was sent */
	/* Told once, on the link's thread.  error: 0 with block (OPENED, STATED; NULL for others),
	 * or negative: -ENOTCONN: the connection is over; -ETIMEDOUT: not answered in time;
	 * -ECANCELED: stopped; or what the peer says. */
	void (*done)(struct link_request *r, int error, const struct message_block *block);
	void *ctx;
	struct link *link; /* where it was asked; set by link_ask() */
	uint16_t answer;   /* what answers it, beside FAILED */
	size_t length;
	uint8_t message[]; /* encoded; the link sets the id */
};

struct link_settings {
	const char *name;              /* the peer's */
	const struct address *address; /* copied; NULL: it cannot be connected to */
	struct tls_context *tls;
	struct rdma *rdma;       /* NULL: not to be used */
	unsigned transports;     /* MESSAGE_TRANSPORT_* that may be used */
	unsigned idle_timeout;   /* seconds */
	unsigned answer_timeout; /* ms */
	/* What the peer says it has: told with each connection, on the link's thread.  0 of them:
	 * that was all. */
	void (*storages)(void *ctx, const struct message_storage *s, size_t count);
	void *ctx;
};

/* Settings' other pointers stay valid as long as the link.  NULL: out of memory. */
struct link *link_new(const struct link_settings *settings);
/* Ends all that is under way with -EAGAIN, and waits for the thread. */
void link_free(struct link *l);

/* 0, or: -ENODEV: not now, the link has failed a moment ago; -EAGAIN: that connection is not up any
 * more, or too much is under way; -ENOMEM.  done is not called then, and the request is still the
 * caller's. */
int link_ask(struct link *l, struct link_request *r);
/* All of that owner's requests end, with -ECANCELED, whatever the peer does: at once, but for what a
 * device writes straight to its place; that ends when the peer says that it has stopped, or with the
 * connection, within LINK_CANCEL_TIMEOUT. */
void link_stop(struct link *l, const void *owner);
/* From now on the peer is at that address, which is copied; NULL: it cannot be connected to.  The present
 * connection ends, and all that is under way on it, with -ENOTCONN; what was asked of no connection
 * in particular, and is not sent yet, goes to the new address. */
void link_set_address(struct link *l, const struct address *address);
/* Connects, if it is not: for what the peer has to tell of itself. */
void link_wake(struct link *l);

/* The present connection, for done() and storages(): changes with each. */
uint64_t link_epoch(struct link *l);
/* Whether a request for that connection can be asked. */
bool link_is_up(struct link *l, uint64_t epoch);
/* Whether it is known that a request would fail now. */
bool link_is_down(struct link *l);

/* Adds to o: state, transport, requests, bytes, direct and bounced (of them by RDMA), under_way,
 * connects, failures, last_error. */
void link_status(struct link *l, json_t *o);

#endif
