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

#include "peer/wire/plain.h"

struct stream {
	struct transport transport;
	struct tls *tls;
	struct plain_frames *frames; /* NULL: no frame may come or go */
	struct outgoing *first, *last;

	/* The message that is arriving. */
	struct message_header header;
	bool have_header;
	bool in_frame;  /* the header came in a frame */
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

/* 0: the whole message was sent; -EAGAIN or another negative errno: as tls_write(). */
static int send_message(struct stream *s, struct outgoing *o)
{
	if (o->plain)
		return plain_send(s->frames, o->message, o->length, &o->sent);
	while (o->sent < o->length) {
		ssize_t n = tls_write(s->tls, o->message + o->sent, o->length - o->sent);

		if (n < 0)
			return (int)n;
		o->sent += (size_t)n;
	}
	return 0;
}

static int stream_flush(struct transport *t)
{
	struct stream *s = stream_of(t);
	int r;

	while (s->first) {
		r = send_message(s, s->first);
		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return failed(s, r, tls_error(s->tls));
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
	bool plain = s->header.type == MESSAGE_DATA && (s->header.flags & MESSAGE_PLAIN);

	if (r || plain != s->in_frame)
		return failed(s, -EPROTO, "a malformed message header");
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

	s->have_header = s->in_frame = false;
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

/* The functions below receive a part of a message.  0: call one of them again; -EAGAIN: when the
 * socket is ready; another negative errno: the connection is over. */

static int receive_by_tls(struct stream *s)
{
	uint8_t *at;
	size_t left = next_place(s, &at);
	ssize_t n = left ? tls_read(s->tls, at, left) : 0;

	if (n == -EAGAIN)
		return tls_is_at_frame(s->tls) ? 0 : -EAGAIN;
	if (left && n <= 0)
		return failed(s, n ? (int)n : -ESHUTDOWN, tls_error(s->tls));
	s->got += (size_t)n;
	if (next_place(s, &at))
		return 0;
	return s->have_header ? take_message(s) : take_header(s);
}

static int frame_failed(struct stream *s, int error)
{
	switch (error) {
	case -EAGAIN:
		return error;
	case -EPROTO:
		return failed(s, error, "a malformed frame");
	case -EBADMSG:
		return failed(s, error, "a frame with a wrong MAC");
	default:
		return failed(s, error, tls_error(s->tls));
	}
}

static int receive_frame(struct stream *s)
{
	size_t left;
	ssize_t n;

	if (!s->frames || (s->have_header && !s->in_frame) || (s->got && !s->in_frame))
		return failed(s, -EPROTO, "a frame where none may be");
	if (!s->in_frame) {
		n = plain_take_header(s->frames, s->raw);
		s->in_frame = n == 0;
		return n ? frame_failed(s, (int)n) : take_header(s);
	}
	left = s->header.length - s->got;
	n = left ? plain_take_bytes(s->frames, s->place ? s->place + s->got : NULL, left)
		 : plain_take_end(s->frames);
	if (n < 0)
		return frame_failed(s, (int)n);
	s->got += (size_t)n;
	return left ? 0 : take_message(s);
}

static int stream_receive(struct stream *s)
{
	int r;

	do
		r = tls_is_at_frame(s->tls) ? receive_frame(s) : receive_by_tls(s);
	while (!r);
	return r == -EAGAIN ? 0 : r;
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
	plain_free(s->frames);
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

int stream_use_frames(struct transport *t, unsigned kind)
{
	struct stream *s = stream_of(t);

	s->frames = plain_new(s->tls, kind == MESSAGE_TRANSPORT_MAC);
	return s->frames ? 0 : -ENOMEM;
}
