// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/answerer.c - READs that another host asked over a queue pair, and their answers.
 * transport.c calls these functions.
 *
 * Each unanswered READ has a slot.  The slot tells how many bytes have been written to the
 * other host's memory.
 */
#include "peer/rdma/transport_private.h"

#include <errno.h>

int rdma_answerer_on_read(struct rdma_transport *t, const struct message_header *h,
			  const uint8_t *body, const struct rdma_target *target)
{
	struct message_read m;
	struct rdma_slot *s = target->slot < t->credits ? &t->slots[target->slot] : NULL;

	if (!s || s->used || rdma_transport_find(t, h->id) || message_get_read(body, h->length, &m))
		return rdma_transport_failed(t, -EPROTO, "a READ that breaks the rules");
	*s = (struct rdma_slot){.used = true, .id = h->id, .length = m.length, .target = *target};
	return rdma_transport_hand_on(t, h, body);
}

/* Writes bytes of an answer to the other host.  The last write carries the word. */
static int post_bytes(struct rdma_transport *t, struct rdma_slot *s, const struct outgoing *o,
		      const struct message_header *h)
{
	const uint8_t *from = o->message + MESSAGE_HEADER;
	uint32_t total = s->written + h->length, key = 0, word;
	bool last = !(h->flags & MESSAGE_MORE);
	int r = 0;

	if (h->length > s->length - s->written)
		return rdma_transport_failed(t, -EINVAL,
					     "an answer with more bytes than the READ asked for");
	if (h->length)
		r = rdma_key_of(rdma_end_device(t->end), RDMA_ANSWERS, from, h->length, &key);
	if (r)
		return rdma_transport_failed(t, r,
					     "an answer from memory that no device can reach");
	word = rdma_word(s->target.slot, total);
	r = rdma_end_write(t->end, from, h->length, key, s->target.address + s->written,
			   s->target.key, last ? &word : NULL);
	if (r)
		return r;
	s->written = total;
	s->used = !last;
	t->counters.sent += h->length;
	return 0;
}

static int post_message(struct rdma_transport *t, struct rdma_slot *s, const struct outgoing *o)
{
	int r = rdma_end_send(t->end, o->message, o->length);

	if (!r)
		s->used = false;
	return r;
}

int rdma_answerer_post(struct rdma_transport *t, const struct outgoing *o,
		       const struct message_header *h, enum rdma_fate *ret)
{
	struct rdma_slot *s = rdma_transport_find(t, h->id);

	if (!s)
		return rdma_transport_failed(t, -EINVAL, "a second answer");
	if (h->type == MESSAGE_FAILED || (!h->length && !s->written))
		return post_message(t, s, o);
	*ret = RDMA_WRITTEN;
	return post_bytes(t, s, o, h);
}
