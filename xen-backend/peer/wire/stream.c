// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stream.c - the transport over TLS.
 *
 * peer/asking/ and peer/answering/ call it through transport.h; peer/rdma/transport.c uses it, too.
 *
 * The bytes of DATA are read straight to their place.  OpenSSL returns bytes of a record only after
 * it has checked the authentication of the record.
 */
#include "peer/wire/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	struct transport transport;
	struct tls *tls;
	struct outgoing *first, *last;

	/* The message that is arriving. */
	struct message_header header;
	bool have_header;
	bool dropped;   /* DATA that nobody waits for */
	uint8_t *place; /* where the bytes of DATA go */
	size_t got;     /* bytes received of the header, or of the body */
	uint8_t raw[MESSAGE_HEADER];
	uint8_t body[MESSAGE_MAX_BODY];
};

static struct stream *stream_of(const struct transport *t)
{
	return (struct stream *)t;
}

static int failed(struct stream *s, int error, const char *text)
{
	snprintf(s->transport.error, sizeof(s->transport.error), "%s", text);
	return error;
}

/* ---- out --------------------------------------------------------------------------- */

static void stream_send(struct transport *t, struct outgoing *o)
{
	struct stream *s = stream_of(t);

	o->next = NULL;
	o->sent = 0;
	if (s->last)
		s->last->next = o;
	else
		s->first = o;
	s->last = o;
}

static void drop_first(struct stream *s)
{
	struct outgoing *o = s->first;

	s->first = o->next;
	if (!s->first)
		s->last = NULL;
	o->release(o);
}

static int stream_flush(struct transport *t)
{
	struct stream *s = stream_of(t);
	int r;

	while (s->first) {
		struct outgoing *o = s->first;
		ssize_t n = tls_write(s->tls, o->message + o->sent, o->length - o->sent);

		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return failed(s, (int)n, tls_error(s->tls));
		o->sent += (size_t)n;
		if (o->sent == o->length)
			drop_first(s);
	}
	r = tls_is_flushed(s->tls) ? 0 : tls_flush(s->tls);
	return r < 0 && r != -EAGAIN ? failed(s, r, tls_error(s->tls)) : 0;
}

static bool is_flushed(const struct stream *s)
{
	return !s->first && tls_is_flushed(s->tls);
}

static bool stream_is_flushed(const struct transport *t)
{
	return is_flushed(stream_of(t));
}

/* ---- in ---------------------------------------------------------------------------- */

static int take_header(struct stream *s)
{
	int r = message_get_header(s->raw, &s->header);

	if (r)
		return failed(s, r, "a malformed message header");
	s->have_header = true;
	s->got = 0;
	s->place = NULL;
	if (s->header.type != MESSAGE_DATA)
		return 0;
	r = s->transport.user->place(s->transport.ctx, &s->header, &s->place);
	s->dropped = !s->place;
	return r ? failed(s, r, "data without a request") : 0;
}

static int take_message(struct stream *s)
{
	const uint8_t *body = s->header.type == MESSAGE_DATA ? s->place : s->body;
	int r = s->transport.user->arrived(s->transport.ctx, &s->header, body);

	s->have_header = false;
	s->got = 0;
	s->place = NULL;
	if (r && !s->transport.error[0])
		failed(s, r, "a malformed or unexpected message");
	return r;
}

/* Sets *ret to where the next bytes go.  Returns how many at most; 0: the header or the body is
 * complete. */
static size_t next_place(struct stream *s, uint8_t **ret)
{
	size_t left = (s->have_header ? s->header.length : MESSAGE_HEADER) - s->got;

	if (!s->have_header) {
		*ret = s->raw + s->got;
	} else if (s->header.type != MESSAGE_DATA) {
		*ret = s->body + s->got;
	} else if (!s->dropped) {
		*ret = s->place + s->got;
	} else {
		*ret = s->body;
		left = left < sizeof(s->body) ? left : sizeof(s->body);
	}
	return left;
}

static int stream_receive(struct stream *s)
{
	for (;;) {
		uint8_t *at;
		size_t left = next_place(s, &at);
		ssize_t n = left ? tls_read(s->tls, at, left) : 0;
		int r;

		if (n == -EAGAIN)
			return 0;
		if (left && n <= 0)
			return failed(s, n ? (int)n : -ESHUTDOWN, tls_error(s->tls));
		s->got += (size_t)n;
		if (next_place(s, &at))
			continue;
		r = s->have_header ? take_message(s) : take_header(s);
		if (r)
			return r;
	}
}

static int stream_advance(struct transport *t)
{
	struct stream *s = stream_of(t);
	int r = stream_flush(t);

	if (r)
		return r;
	tls_begin_turn(s->tls);
	return stream_receive(s);
}

static int stream_forget(struct transport *t, uint64_t id)
{
	struct stream *s = stream_of(t);

	if (s->have_header && s->header.type == MESSAGE_DATA && s->header.id == id) {
		s->dropped = true;
		s->place = NULL;
	}
	return 0;
}

/* ---- the whole --------------------------------------------------------------------- */

static int stream_recheck(struct transport *t)
{
	struct stream *s = stream_of(t);
	int r = tls_recheck(s->tls);

	return r ? failed(s, r, tls_error(s->tls)) : 0;
}

static unsigned stream_poll(const struct transport *t, struct pollfd *fds)
{
	const struct stream *s = stream_of(t);

	fds[0].fd = tls_fd(s->tls);
	fds[0].events = (short)(POLLIN | (is_flushed(s) ? 0 : POLLOUT) | tls_wants(s->tls));
	return 1;
}

static void stream_shutdown(struct transport *t)
{
	tls_shutdown(stream_of(t)->tls);
}

static void stream_free(struct transport *t)
{
	struct stream *s = stream_of(t);

	while (s->first)
		drop_first(s);
	tls_free(s->tls);
	free(s);
}

static const struct transport_ops stream_ops = {
	.name = "tls",
	.send = stream_send,
	.advance = stream_advance,
	.flush = stream_flush,
	.is_flushed = stream_is_flushed,
	.forget = stream_forget,
	.recheck = stream_recheck,
	.poll = stream_poll,
	.shutdown = stream_shutdown,
	.free = stream_free,
};

struct transport *stream_new(struct tls *tls, const struct transport_user *user, void *ctx)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->transport = (struct transport){.ops = &stream_ops, .user = user, .ctx = ctx};
	s->tls = tls;
	return &s->transport;
}
