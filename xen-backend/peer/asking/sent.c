// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sent.c - sends requests, and keeps the table of requests that are not answered yet.
 *
 * Called by the other files of a link, on the link's thread.
 *
 * An id is the number of a slot and a count of the slot's uses.  So the id of an answer that comes
 * twice, or too late, matches no request.  There are as many slots as the peer gave credits.
 */
#include "peer/asking/link_private.h"

#include <errno.h>

#include "base/clock.h"

#define SLOT_BITS 16
/* More than a frame of any network.  A network may lose all large frames and no small ones. */
#define NO_STALL_BYTES 16384U

void link_count_rdma(struct link *l)
{
	struct rdma_counters now;

	if (!l->by_rdma || !l->transport)
		return;
	rdma_counters(l->transport, &now);
	l->direct += now.direct - l->counted.direct;
	l->bounced += now.bounced - l->counted.bounced;
	l->counted = now;
}

void link_settle(struct link *l, struct link_slot *s, int error, const struct message_block *block)
{
	struct link_request *r = s->request;

	s->request = NULL;
	s->id = 0;
	s->given_up = 0;
	l->used--;
	pthread_mutex_lock(&l->lock);
	l->num_sent--;
	if (r && !error) {
		l->bytes += r->placed;
		l->encrypted += r->encrypt ? r->placed : 0;
		l->plain_bytes += r->plain;
	}
	if (!error && (!l->stalled || (r && r->placed >= NO_STALL_BYTES))) {
		l->pause = 0;
		l->stalled = false;
	}
	link_count_rdma(l);
	pthread_mutex_unlock(&l->lock);
	l->last_use = clock_ms();
	if (r)
		r->done(r, error, block);
}

struct link_slot *link_find_slot(struct link *l, uint64_t id)
{
	uint64_t index = id & ((1U << SLOT_BITS) - 1);

	if (id == 0 || index >= l->credits || l->slots[index].id != id)
		return NULL;
	return &l->slots[index];
}

static int send_copy(struct link *l, const uint8_t *message, size_t length, bool encrypt)
{
	struct outgoing *o = outgoing_new(message, length);

	if (!o)
		return link_failed(l, -ENOMEM, "out of memory");
	o->encrypt = encrypt;
	l->transport->ops->send(l->transport, o);
	return 0;
}

int link_send(struct link *l, const uint8_t *message, size_t length)
{
	return send_copy(l, message, length, false);
}

static int send_request(struct link *l, struct link_request *r)
{
	struct link_slot *s = l->slots;

	if (r->silent) {
		int error = link_send(l, r->message, r->length);

		r->done(r, error ? -ENOTCONN : 0, NULL);
		return error;
	}
	while (s->id)
		s++;
	s->id = ++s->use << SLOT_BITS | (uint64_t)(s - l->slots);
	s->request = r;
	s->sent = clock_ms();
	s->deadline = r->expires;
	l->used++;
	pthread_mutex_lock(&l->lock);
	l->num_sent++;
	l->requests++;
	pthread_mutex_unlock(&l->lock);
	message_set_id(r->message, s->id);
	if (r->mac && l->by_frames != MESSAGE_TRANSPORT_MAC)
		r->encrypt = true;
	if (l->by_frames && r->answer == MESSAGE_DATA && !r->encrypt)
		message_set_plain(r->message);
	return send_copy(l, r->message, r->length, r->encrypt);
}

int link_send_queued(struct link *l)
{
	while (l->used < l->credits) {
		struct link_request *r;
		uint64_t epoch;
		int error;

		pthread_mutex_lock(&l->lock);
		/* If the peer has moved, requests wait for the next connection. */
		r = l->moved ? NULL : request_queue_take(&l->queue);
		epoch = l->epoch;
		pthread_mutex_unlock(&l->lock);
		if (!r)
			return 0;
		if (r->epoch && r->epoch != epoch) {
			r->done(r, -ENOTCONN, NULL);
			continue;
		}
		error = send_request(l, r);
		if (error)
			return error;
	}
	return 0;
}
