// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/asker.c - READs that this host asks over a queue pair, and the places their bytes arrive
 * at.  transport.c calls these functions.
 *
 * Each READ under way has a slot.  The slot knows the place that the other host's device writes
 * the READ's bytes to.  The other host may write there until it has answered.  Then the place is
 * withdrawn from it, and after that the answer is handed on: no byte of a finished READ changes.
 */
#include "peer/rdma/transport_private.h"

#include <errno.h>
#include <string.h>

static struct rdma_slot *free_slot(struct rdma_transport *t)
{
	for (unsigned i = 0; i < t->credits; i++)
		if (!t->slots[i].used)
			return &t->slots[i];
	return NULL;
}

static void free_target(struct rdma_transport *t, struct rdma_slot *s)
{
	if (s->bounce >= 0)
		rdma_bounce_give(&t->bounce, s->bounce);
	s->used = false;
}

/* Chooses where the other host is to write: the place itself, or a buffer if the device cannot or
 * must not reach it. */
static int take_place(struct rdma_transport *t, struct rdma_slot *s, uint8_t **ret,
		      struct ibv_mr **ret_region)
{
	*ret = s->place;
	s->bounce = -1;
	if (rdma_region_of(rdma_end_device(t->end), RDMA_ASKS, s->place, s->length, ret_region) ==
	    0)
		return 0;
	s->bounce = rdma_bounce_take(&t->bounce, t->end, ret);
	*ret_region = t->bounce.region;
	if (s->bounce >= 0)
		return 0;
	if (s->bounce == -EAGAIN)
		return -EAGAIN;
	return rdma_transport_failed(t, s->bounce, "no memory that the other host can reach");
}

static unsigned number_of(const struct rdma_transport *t, const struct rdma_slot *s)
{
	return (unsigned)(s - t->slots);
}

/* Lets the other host write to the place of the READ. */
static int take_target(struct rdma_transport *t, struct rdma_slot *s, struct rdma_target *ret)
{
	struct ibv_mr *region;
	uint8_t *at;
	int r = take_place(t, s, &at, &region);

	if (r)
		return r;
	ret->address = (uintptr_t)at;
	ret->slot = number_of(t, s);
	return rdma_end_expose(t->end, ret->slot, region, at, s->length, &ret->key);
}

/* Nothing is exposed before there is room for the message, so no place is exposed twice. */
static int post_to(struct rdma_transport *t, struct rdma_slot *s, const struct outgoing *o)
{
	uint8_t message[RDMA_MESSAGE_BYTES];
	struct rdma_target target;
	int r = rdma_end_can_send(t->end) ? take_target(t, s, &target) : -EAGAIN;

	if (r)
		return r;
	s->used = true;
	return rdma_end_send(t->end, message, rdma_put_read(message, o->message, &target));
}

int rdma_asker_post(struct rdma_transport *t, const struct outgoing *o,
		    const struct message_header *h, enum rdma_fate *ret)
{
	struct message_header data = {.type = MESSAGE_DATA, .id = h->id};
	struct rdma_slot *s = free_slot(t);
	struct message_read m;
	uint8_t *place;
	int r;

	if (!s)
		return -EAGAIN;
	if (message_get_read(o->message + MESSAGE_HEADER, h->length, &m))
		return rdma_transport_failed(t, -EINVAL, "a malformed READ");
	/* The READ asks for the most bytes there may be.  The answer tells how many there are. */
	r = t->transport.user->place(t->transport.ctx, &data, &place);
	if (r)
		return rdma_transport_failed(t, r, "a READ without a request");
	*s = (struct rdma_slot){.id = h->id, .length = m.length, .place = place};
	if (place)
		return post_to(t, s, o);
	*ret = RDMA_BY_TLS;
	return 0;
}

/* The bytes have landed.  Copies them to their place if they are in a buffer. */
static void take_bytes(struct rdma_transport *t, const struct rdma_slot *s, uint32_t length)
{
	if (s->bounce >= 0 && !s->forgotten)
		memcpy(s->place, rdma_bounce_at(&t->bounce, s->bounce), length);
	*(s->bounce < 0 ? &t->counters.direct : &t->counters.bounced) += length;
}

int rdma_asker_on_answer(struct rdma_transport *t, const struct message_header *h,
			 const uint8_t *body)
{
	struct rdma_slot *s = rdma_transport_find(t, h->id);

	if (!s || s->answered)
		return rdma_transport_failed(t, -EPROTO, "an answer to no request");
	if (h->type == MESSAGE_DATA && h->length > s->length)
		return rdma_transport_failed(t, -EPROTO, "more data than was asked for");
	s->answered = true;
	s->answer = *h;
	if (h->type == MESSAGE_FAILED)
		memcpy(s->failed, body, sizeof(s->failed));
	return rdma_end_withdraw(t->end, number_of(t, s));
}

int rdma_asker_on_withdrawn(struct rdma_transport *t, unsigned slot)
{
	struct rdma_slot *s = &t->slots[slot];
	bool is_data = s->answer.type == MESSAGE_DATA;

	if (is_data)
		take_bytes(t, s, s->answer.length);
	free_target(t, s);
	return rdma_transport_hand_on(t, &s->answer, is_data ? s->place : s->failed);
}

int rdma_asker_forget(struct transport *transport, uint64_t id)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	struct rdma_slot *s = t->side == RDMA_ASKS ? rdma_transport_find(t, id) : NULL;

	if (!s)
		return t->stream->ops->forget(t->stream, id);
	if (s->bounce < 0)
		return -ECONNABORTED;
	s->forgotten = true;
	return 0;
}
