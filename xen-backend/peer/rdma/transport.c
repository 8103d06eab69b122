// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/transport.c - a transport that moves READs and their answers over a queue pair, and all
 * other messages over TLS.  It implements struct transport_ops; peer/asking and peer/answering
 * make transports of it.
 *
 * The answer to a READ goes the way the READ came.  So nothing of an answer can arrive after
 * the end of the answer was told, and a READ that goes over TLS is answered over TLS.
 */
#include "peer/rdma/transport_private.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "peer/rdma/listen.h"

struct rdma_transport *rdma_transport_of(const struct transport *t)
{
	return (struct rdma_transport *)t;
}

int rdma_transport_failed(struct rdma_transport *t, int error, const char *text)
{
	snprintf(t->transport.error, sizeof(t->transport.error), "rdma: %s", text);
	t->has_failed = true;
	return error;
}

static int stream_failed(struct rdma_transport *t, int error)
{
	memcpy(t->transport.error, t->stream->error, sizeof(t->transport.error));
	return error;
}

struct rdma_slot *rdma_transport_find(struct rdma_transport *t, uint64_t id)
{
	for (unsigned i = 0; i < t->credits; i++)
		if (t->slots[i].used && t->slots[i].id == id)
			return &t->slots[i];
	return NULL;
}

static void append(struct outgoing **first, struct outgoing **last, struct outgoing *o)
{
	o->next = NULL;
	if (*last)
		(*last)->next = o;
	else
		*first = o;
	*last = o;
}

static struct outgoing *take_first(struct outgoing **first, struct outgoing **last)
{
	struct outgoing *o = *first;

	*first = o->next;
	if (!*first)
		*last = NULL;
	return o;
}

void rdma_transport_by_tls(struct rdma_transport *t)
{
	while (t->first)
		t->stream->ops->send(t->stream, take_first(&t->first, &t->last));
}

static void release_all(struct outgoing **first, struct outgoing **last)
{
	while (*first) {
		struct outgoing *o = take_first(first, last);

		o->release(o);
	}
}

/* True for a READ whose bytes need no encryption, and for the answer to a READ that came over the
 * queue pair. */
static bool is_for_pair(struct rdma_transport *t, const struct message_header *h,
			const struct outgoing *o)
{
	if (t->side == RDMA_ASKS)
		return h->type == MESSAGE_READ && !o->encrypt;
	return (h->type == MESSAGE_DATA || h->type == MESSAGE_FAILED) &&
	       rdma_transport_find(t, h->id);
}

static void rdma_send(struct transport *transport, struct outgoing *o)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	struct message_header h;

	if (message_get_header(o->message, &h) == 0 && is_for_pair(t, &h, o) &&
	    !(t->side == RDMA_ASKS && rdma_dial_goes_by_tls(&t->dial, clock_ms())))
		append(&t->first, &t->last, o);
	else
		t->stream->ops->send(t->stream, o);
}

int rdma_transport_hand_on(struct rdma_transport *t, const struct message_header *h,
			   const uint8_t *body)
{
	int r = t->transport.user->arrived(t->transport.ctx, h, body);

	return r ? rdma_transport_failed(t, r, "a malformed or unexpected message") : 0;
}

/* All bytes of the oldest DATA under way have been written. */
static void on_written(void *ctx)
{
	struct rdma_transport *t = ctx;
	struct outgoing *o = take_first(&t->first_posted, &t->last_posted);

	o->release(o);
}

static int on_message(void *ctx, const uint8_t *data, size_t length)
{
	struct rdma_transport *t = ctx;
	struct rdma_target target;
	struct message_header h;

	if (rdma_get_message(data, length, &h, &target))
		return rdma_transport_failed(t, -EPROTO, "a malformed message");
	if ((h.type == MESSAGE_READ) != (t->side == RDMA_ANSWERS))
		return rdma_transport_failed(t, -EPROTO, "a message of the wrong side");
	if (t->side == RDMA_ANSWERS)
		return rdma_answerer_on_read(t, &h, data + MESSAGE_HEADER, &target);
	return rdma_asker_on_answer(t, &h, data + MESSAGE_HEADER);
}

static int on_withdrawn(void *ctx, unsigned slot)
{
	return rdma_asker_on_withdrawn(ctx, slot);
}

const struct rdma_end_user rdma_transport_user = {.message = on_message,
						  .written = on_written,
						  .withdrawn = on_withdrawn};

static int post_one(struct rdma_transport *t, const struct outgoing *o, enum rdma_fate *ret)
{
	struct message_header h;

	message_get_header(o->message, &h);
	*ret = RDMA_DONE;
	if (h.type == MESSAGE_READ)
		return rdma_asker_post(t, o, &h, ret);
	return rdma_answerer_post(t, o, &h, ret);
}

static void posted(struct rdma_transport *t, enum rdma_fate fate)
{
	struct outgoing *o = take_first(&t->first, &t->last);

	if (fate == RDMA_BY_TLS)
		t->stream->ops->send(t->stream, o);
	else if (fate == RDMA_WRITTEN)
		append(&t->first_posted, &t->last_posted, o);
	else
		o->release(o);
}

static int post_all(struct rdma_transport *t)
{
	enum rdma_fate fate;
	int r = 0;

	while (t->first && t->end && rdma_end_is_up(t->end)) {
		r = post_one(t, t->first, &fate);
		if (r)
			break;
		posted(t, fate);
	}
	if (!r || r == -EAGAIN)
		return 0;
	if (!t->transport.error[0])
		rdma_transport_failed(t, r, rdma_end_error(t->end));
	return r;
}

static int advance_pair(struct rdma_transport *t)
{
	int r = rdma_pair_advance(t);

	return r ? r : post_all(t);
}

/* TLS first: TLS tells best how a connection ended. */
static int rdma_advance(struct transport *transport)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	int r = t->stream->ops->advance(t->stream);

	return r ? stream_failed(t, r) : advance_pair(t);
}

static int rdma_flush(struct transport *transport)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	int r = post_all(t);

	if (r)
		return r;
	r = t->stream->ops->flush(t->stream);
	return r < 0 ? stream_failed(t, r) : r;
}

static bool rdma_is_flushed(const struct transport *transport)
{
	const struct rdma_transport *t = rdma_transport_of(transport);

	return !t->first && !t->first_posted && t->stream->ops->is_flushed(t->stream);
}

static int rdma_recheck(struct transport *transport)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	int r = t->stream->ops->recheck(t->stream);

	return r ? stream_failed(t, r) : 0;
}

static unsigned rdma_poll(const struct transport *transport, struct pollfd *fds)
{
	const struct rdma_transport *t = rdma_transport_of(transport);
	unsigned n = t->stream->ops->poll(t->stream, fds);

	fds[n] = (struct pollfd){.fd = t->epoll, .events = POLLIN};
	return n + 1;
}

static void rdma_shutdown(struct transport *transport)
{
	struct rdma_transport *t = rdma_transport_of(transport);

	t->stream->ops->shutdown(t->stream);
}

/* Frees everything except the stream.  The queue pair ends before any memory is released that
 * the queue pair writes to or reads. */
static void free_pair(struct rdma_transport *t)
{
	rdma_end_free(t->end);
	rdma_await_free(t->awaited);
	rdma_bounce_free(&t->bounce);
	release_all(&t->first_posted, &t->last_posted);
	release_all(&t->first, &t->last);
	if (t->timer >= 0)
		close(t->timer);
	close(t->epoll);
	explicit_bzero(&t->secret, sizeof(t->secret));
	free(t);
}

static void rdma_transport_free(struct transport *transport)
{
	struct transport *stream = rdma_transport_of(transport)->stream;

	free_pair(rdma_transport_of(transport));
	stream->ops->free(stream);
}

static const struct transport_ops rdma_ops = {
	.name = "rdma",
	.send = rdma_send,
	.advance = rdma_advance,
	.flush = rdma_flush,
	.is_flushed = rdma_is_flushed,
	.forget = rdma_asker_forget,
	.recheck = rdma_recheck,
	.poll = rdma_poll,
	.shutdown = rdma_shutdown,
	.free = rdma_transport_free,
};

static struct rdma_transport *new_transport(struct rdma *r, enum rdma_side side, unsigned credits,
					    struct transport *stream)
{
	struct rdma_transport *t = calloc(1, sizeof(*t) + credits * sizeof(t->slots[0]));

	if (!t)
		return NULL;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0) {
		free(t);
		return NULL;
	}
	t->transport =
		(struct transport){.ops = &rdma_ops, .user = stream->user, .ctx = stream->ctx};
	t->stream = stream;
	t->side = side;
	t->rdma = r;
	t->credits = credits;
	t->timer = -1;
	for (unsigned i = 0; i < RDMA_END_FDS; i++)
		t->watched[i] = -1;
	return t;
}

struct transport *rdma_ask(struct rdma *r, const struct sockaddr *address,
			   const struct rdma_secret *secret, unsigned credits,
			   const struct rdma_choice *choice, struct transport *stream,
			   char **ret_error)
{
	struct rdma_transport *t = new_transport(r, RDMA_ASKS, credits, stream);
	int result;

	if (!t) {
		error_text(ret_error, -ENOMEM, "out of memory");
		return NULL;
	}
	memcpy(&t->address, address,
	       address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in));
	t->secret = *secret;
	result = rdma_pair_begin(t, choice);
	if (result == 0)
		return &t->transport;
	error_text(ret_error, result, "%s", t->transport.error);
	free_pair(t);
	return NULL;
}

bool rdma_goes_by_tls(const struct transport *transport, const char **ret_why)
{
	const struct rdma_transport *t = rdma_transport_of(transport);

	if (ret_why)
		*ret_why = t->why;
	return rdma_dial_goes_by_tls(&t->dial, clock_ms());
}

bool rdma_has_failed(const struct transport *t)
{
	return rdma_transport_of(t)->has_failed;
}

struct transport *rdma_answer(struct rdma_awaited *a, unsigned credits, struct transport *stream)
{
	struct rdma_transport *t = new_transport(rdma_await_rdma(a), RDMA_ANSWERS, credits, stream);

	if (t && rdma_pair_watch(t, rdma_await_fd(a))) {
		free_pair(t);
		t = NULL;
	}
	if (!t) {
		rdma_await_free(a);
		return NULL;
	}
	t->awaited = a;
	return &t->transport;
}

void rdma_counters(const struct transport *t, struct rdma_counters *ret)
{
	*ret = rdma_transport_of(t)->counters;
}
