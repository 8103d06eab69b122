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

/* Writes bytes of an answer to the other host. */
static int write_bytes(struct rdma_transport *t, struct rdma_slot *s, const struct outgoing *o,
		       const struct message_header *h)
{
	const uint8_t *from = o->message + MESSAGE_HEADER;
	struct ibv_mr *region;
	int r;

	if (h->length > s->length - s->written)
		return rdma_transport_failed(t, -EINVAL,
					     "an answer with more bytes than the READ asked for");
	r = rdma_region_of(rdma_end_device(t->end), RDMA_ANSWERS, from, h->length, &region);
	if (r)
		return rdma_transport_failed(t, r,
					     "an answer from memory that no device can reach");
	r = rdma_end_write(t->end, from, h->length, region->lkey, s->target.address + s->written,
			   s->target.key);
	if (r)
		return r;
	s->written += h->length;
	t->counters.sent += h->length;
	return 0;
}

/* Sends the message that ends the answer. */
static int finish(struct rdma_transport *t, struct rdma_slot *s, const uint8_t *message,
		  size_t length)
{
	int r = rdma_end_send(t->end, message, length);

	if (!r)
		s->used = false;
	return r;
}

/* Writes the bytes of a DATA.  Behind the last bytes, tells how many there are, and their CRC32C.
 * Nothing is written before there is room for that message, so no write is posted twice. */
static int post_data(struct rdma_transport *t, struct rdma_slot *s, const struct outgoing *o,
		     const struct message_header *h, enum rdma_fate *ret)
{
	uint8_t message[RDMA_MESSAGE_BYTES];
	bool last = !(h->flags & MESSAGE_MORE);
	int r = last && !rdma_end_can_send(t->end) ? -EAGAIN : 0;

	if (!r && h->length) {
		*ret = RDMA_WRITTEN;
		r = write_bytes(t, s, o, h);
	}
	if (r || !last)
		return r;
	return finish(t, s, message, rdma_put_data(message, h->id, s->written, h->crc32c));
}

int rdma_answerer_post(struct rdma_transport *t, const struct outgoing *o,
		       const struct message_header *h, enum rdma_fate *ret)
{
	struct rdma_slot *s = rdma_transport_find(t, h->id);

	if (!s)
		return rdma_transport_failed(t, -EINVAL, "a second answer");
	if (h->type == MESSAGE_FAILED)
		return finish(t, s, o->message, o->length);
	return post_data(t, s, o, h, ret);
}
