/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - the connection to one peer, made when there is something to ask.
 *
 * Called by the files behind peer.h.  A peer has a link, or several (streams.c).
 *
 * A link is idle until it gets a request.  Then a thread connects, sends HELLO, sends requests and
 * receives answers.  The connection is closed when nothing was asked for idle_timeout.  Owners of
 * requests take turns.  An idle link is a few hundred bytes, without a thread or a descriptor.
 *
 * If the connection fails, all requests under way fail.  Then requests fail at once for a pause
 * that grows with each failure.  A request that is overdue also ends the connection if the peer has
 * answered nothing at all since the request was sent.  If the peer has answered other requests
 * meanwhile, or if the request was queued for too long, only the overdue request ends.
 *
 * Threads: any, except for link_new() and link_free().
 */
#ifndef VREAD_PEER_LINK_H
#define VREAD_PEER_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer/wire/message.h"

#define LINK_CANCEL_TIMEOUT 400U /* ms */
/* Most requests of one owner that wait to be sent.  A guest's rings ask for less: see
 * ring/remote.c. */
#define LINK_MAX_QUEUED_EACH 1024U

struct address;
struct link;
struct rdma;
struct tls_context;

/* One request.  The link owns it from a successful link_ask() until it calls done; done frees
 * it. */
struct link_request {
	/* For the queue.  next: in an owner's first request: the first request of the next owner.
	 * same: the next request of the same owner.  last, waiting: in an owner's first request:
	 * the owner's last request, and how many requests of the owner await an answer. */
	struct link_request *next;
	struct link_request *same, *last;
	unsigned waiting;
	const void *owner; /* link_stop() ends all requests of an owner */
	uint64_t epoch;    /* the connection to send it on, from link_epoch(); 0: any */
	uint64_t expires;  /* ms of clock_ms(); the request ends if it is not answered by then */
	uint8_t *place;    /* where the bytes of DATA go */
	uint32_t room;     /* at most so many bytes */
	uint32_t placed;   /* so many bytes are there */
	uint32_t plain;    /* so many of these came in frames */
	uint32_t crc32c;   /* of all these bytes, as the peer said with the last of them */
	bool encrypt;      /* of a READ: its bytes must come encrypted */
	bool mac;          /* of a READ: its bytes must come encrypted or with a MAC */
	bool silent;       /* there is no answer: done is called when the request was sent */
	/* Called once, on the link's thread.  error: 0; -ENOTCONN: the connection is over;
	 * -ETIMEDOUT: not answered in time; -ECANCELED: stopped; or the peer's error, negative.
	 * block: the body of OPENED or STATED with error 0, else NULL. */
	void (*done)(struct link_request *r, int error, const struct message_block *block);
	void *ctx;
	struct link *link; /* set by link_ask() */
	uint16_t answer;   /* the type of message that answers it, beside FAILED */
	size_t length;     /* of message */
	uint8_t message[]; /* encoded; the link sets the id */
};

struct link_settings {
	const char *name;              /* the peer's */
	const struct address *address; /* copied; NULL: the peer cannot be connected to */
	struct tls_context *tls;
	struct rdma *rdma;       /* NULL: RDMA is not used */
	unsigned transports;     /* MESSAGE_TRANSPORT_* that may be used */
	unsigned idle_timeout;   /* seconds */
	unsigned answer_timeout; /* ms */
	/* Called on the link's thread with the storages that the peer announces: all of them on
	 * each connection, and again after a change.  count 0: the list is complete.  0, or
	 * negative errno: the peer announces too much, and the connection is over. */
	int (*storages)(void *ctx, const struct message_storage *s, size_t count);
	void *ctx;
};

/* All pointers in settings but address must stay valid as long as the link.  NULL: out of
 * memory. */
struct link *link_new(const struct link_settings *settings);
/* Ends all requests under way with -ENOTCONN and waits for the thread. */
void link_free(struct link *l);

/* Queues the request.  0; -ENODEV: the link has failed a moment ago, or has no address; -EAGAIN:
 * the connection r->epoch is not up any more, or LINK_MAX_QUEUED_EACH requests of the owner are
 * queued; -ENOMEM.  On failure done is not called and the request is still the caller's.  Silent
 * requests are always queued: there is at most one for each open handle. */
int link_ask(struct link *l, struct link_request *r);
/* Ends all requests of that owner with -ECANCELED, whatever the peer does.  Requests whose bytes an
 * RDMA device writes straight to their place end when the peer confirms that it has stopped, or
 * with the connection, within LINK_CANCEL_TIMEOUT.  All other requests end at once. */
void link_stop(struct link *l, const void *owner);
/* From now on the peer is at that address, which is copied; NULL: it cannot be connected to.  The
 * present connection ends, and all requests under way on it end with -ENOTCONN.  Queued requests
 * with epoch 0 go to the new address. */
void link_set_address(struct link *l, const struct address *address);
/* Sets in which frames bytes may come (peer_config.frames).  Counts for the next connection. */
void link_set_frames(struct link *l, unsigned frames);
/* Connects if the link is not connected, so that the peer announces its storages. */
void link_wake(struct link *l);

/* The number of the present connection; each connection has another number.  For done() and
 * storages(). */
uint64_t link_epoch(struct link *l);
/* True if it is connected, and requests go to the peer at once. */
bool link_is_up(struct link *l);
/* True if it is known that a request would fail now. */
bool link_is_down(struct link *l);

/* Adds to o: state, transport, requests, bytes, direct and bounced (those of the bytes that came by
 * RDMA), encrypted (those that had to come by TLS, because the reader said so), plain (those that
 * came in frames), under_way, connects, failures, last_error. */
void link_status(struct link *l, json_t *o);

#endif
