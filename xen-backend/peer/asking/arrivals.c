// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arrivals.c - takes the messages that the peer sends.
 *
 * The link's transport calls link_transport_user, on the link's thread.
 *
 * The peer's HELLO sets the transport and the number of credits.  Every other message must answer a
 * request under way, or be a STORAGES.  DATA goes to the place of its request and nowhere else.
 */
#include "peer/asking/link_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "peer/wire/stream.h"

static int take_hello(struct link *l, const struct message_header *h, const uint8_t *body)
{
	struct message_hello m;

	if (l->have_hello || message_get_hello(body, h->length, &m))
		return link_failed(l, -EPROTO, "a malformed HELLO");
	if (m.version != MESSAGE_VERSION)
		return link_failed(l, -EPROTO,
				   "it has version %u of the protocol, this host has %u: update "
				   "the older host",
				   m.version, MESSAGE_VERSION);
	if (m.transports == 0)
		return link_failed(l, -EPROTO,
				   "it has no transport in common with this host: compare [peers] "
				   "transports of both");
	if (m.credits == 0 || (m.transports & (m.transports - 1)) ||
	    !(m.transports & l->asked_transports))
		return link_failed(l, -EPROTO, "a HELLO that does not match this host's HELLO");
	l->slots = calloc(m.credits, sizeof(*l->slots));
	if (!l->slots)
		return link_failed(l, -ENOMEM, "out of memory");
	l->credits = m.credits;
	l->have_hello = true;
	if (m.transports == MESSAGE_TRANSPORT_RDMA && link_use_rdma(l, m.credits))
		return -ENOTCONN;
	l->by_frames = m.transports & MESSAGE_TRANSPORT_FRAMES;
	if (l->by_frames && stream_use_frames(l->transport, m.transports))
		return link_failed(l, -ENOMEM, "out of memory");
	pthread_mutex_lock(&l->lock);
	l->state = LINK_UP;
	l->transport_name = m.transports == MESSAGE_TRANSPORT_BARE  ? "bare"
			    : m.transports == MESSAGE_TRANSPORT_MAC ? "plain"
								    : l->transport->ops->name;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

static int take_storages(struct link *l, const struct message_header *h, const uint8_t *body)
{
	struct message_storage s;
	size_t at = 0;
	int r = 0;

	while (!r && at < h->length) {
		if (message_get_storage(body, h->length, &at, &s))
			return link_failed(l, -EPROTO, "a malformed list of storages");
		r = l->settings.storages(l->settings.ctx, &s, 1);
	}
	if (!r && !(h->flags & MESSAGE_MORE))
		r = l->settings.storages(l->settings.ctx, NULL, 0);
	return r ? link_failed(l, r, "it announces storages too often, or too many") : 0;
}

/* Closes a block that was opened for a request that has ended early. */
static int send_close(struct link *l, uint32_t handle)
{
	uint8_t message[MESSAGE_MAX];

	return link_send(l, message, message_put_handle(message, MESSAGE_CLOSE, 0, handle));
}

static int take_answer(struct link *l, const struct message_header *h, const uint8_t *body)
{
	struct link_slot *s = link_find_slot(l, h->id);
	struct link_request *r = s ? s->request : NULL;
	struct message_block block;
	int error;

	if (!s || (r && h->type != MESSAGE_FAILED && h->type != r->answer))
		return link_failed(l, -EPROTO, "an answer to no request");
	if (!s->given_up)
		l->heard = clock_ms();
	if (h->type == MESSAGE_FAILED) {
		if (message_get_failed(body, h->length, &error))
			return -EPROTO;
		link_settle(l, s, s->given_up ? s->given_up : error, NULL);
		return 0;
	}
	if (h->type == MESSAGE_DATA) {
		if (r) {
			r->placed += h->length;
			r->plain += h->flags & MESSAGE_PLAIN ? h->length : 0;
			r->crc32c = h->crc32c;
		}
		if (!(h->flags & MESSAGE_MORE))
			link_settle(l, s, s->given_up, NULL);
		return 0;
	}
	if (message_get_block(body, h->length, &block))
		return -EPROTO;
	link_settle(l, s, s->given_up, &block);
	return r || h->type != MESSAGE_OPENED ? 0 : send_close(l, block.handle);
}

static int on_arrived(void *ctx, const struct message_header *h, const uint8_t *body)
{
	struct link *l = ctx;

	if (h->type == MESSAGE_HELLO)
		return take_hello(l, h, body);
	if (!l->have_hello)
		return link_failed(l, -EPROTO, "a message before HELLO");
	switch (h->type) {
	case MESSAGE_STORAGES:
		return take_storages(l, h, body);
	case MESSAGE_OPENED:
	case MESSAGE_STATED:
	case MESSAGE_DATA:
	case MESSAGE_FAILED:
		return take_answer(l, h, body);
	default:
		return link_failed(l, -EPROTO, "a message of type %u, which is a request", h->type);
	}
}

static int on_place(void *ctx, const struct message_header *h, uint8_t **ret_place)
{
	struct link *l = ctx;
	struct link_slot *s = link_find_slot(l, h->id);
	struct link_request *r = s ? s->request : NULL;

	*ret_place = NULL;
	if (!s)
		return link_failed(l, -EPROTO, "data without a request");
	if (!r)
		return 0; /* the request has ended early: the bytes are dropped */
	if (r->answer != MESSAGE_DATA || h->length > r->room - r->placed)
		return link_failed(l, -EPROTO, "more data than was asked for");
	if (r->encrypt && (h->flags & MESSAGE_PLAIN))
		return link_failed(l, -EPROTO, "unencrypted data for a reader that wants none");
	if (!s->given_up)
		l->heard = clock_ms();
	*ret_place = r->place + r->placed;
	return 0;
}

const struct transport_user link_transport_user = {.arrived = on_arrived, .place = on_place};
