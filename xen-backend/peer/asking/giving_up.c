// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * giving_up.c - ends requests without their answer: they are stopped by their owner, or overdue.
 *
 * Called by connect.c and connection.c, on the link's thread.
 *
 * For a request that is given up the peer gets a CANCEL.  The slot stays in use until the peer has
 * answered, since credits count the requests that the peer has to answer.  If late bytes can be
 * kept out, as over TLS, the request ends at once.  Else it ends with the peer's answer, or with
 * the connection if the peer does not answer within LINK_CANCEL_TIMEOUT.
 */
#include "peer/asking/link_private.h"

#include <errno.h>

#include "base/clock.h"

static bool is_overdue(const struct link_request *r, void *now)
{
	return r->expires <= *(const uint64_t *)now;
}

static bool is_stopped(const struct link_request *r, void *ctx)
{
	const struct link *l = ctx;

	for (unsigned i = 0; i < l->num_stopped; i++)
		if (r->owner && l->stopped[i] == r->owner)
			return true;
	return l->stop_all;
}

/* Sends a CANCEL for the slot's request.  If the request can end at once, it is put into *chain,
 * which the caller ends. */
static int give_up(struct link *l, struct link_slot *s, int why, struct link_request **chain)
{
	uint8_t message[MESSAGE_MAX];
	struct link_request *r = s->request;

	s->given_up = why;
	s->sent = clock_ms();
	if (l->transport->ops->forget(l->transport, s->id)) {
		s->deadline = clock_ms() + LINK_CANCEL_TIMEOUT;
	} else {
		s->deadline = clock_ms() + l->settings.answer_timeout;
		s->request = NULL;
		r->next = *chain;
		*chain = r;
	}
	return link_send(l, message, message_put_cancel(message, s->id));
}

int link_end_stopped(struct link *l)
{
	struct link_request *chain, *given_up = NULL;
	bool any;
	int error = 0;

	pthread_mutex_lock(&l->lock);
	any = l->num_stopped || l->stop_all;
	chain = any ? request_queue_pick(&l->queue, is_stopped, l) : NULL;
	for (unsigned i = 0; any && !error && i < l->credits; i++) {
		struct link_slot *s = &l->slots[i];

		if (!s->request || !is_stopped(s->request, l))
			continue;
		if (s->given_up) /* already given up because it was overdue */
			s->given_up = -ECANCELED;
		else
			error = give_up(l, s, -ECANCELED, &given_up);
	}
	l->num_stopped = 0;
	l->stop_all = false;
	if (!error && l->moved)
		error = link_failed(l, -ESTALE, "its address was changed");
	pthread_mutex_unlock(&l->lock);
	request_chain_end(chain, -ECANCELED);
	request_chain_end(given_up, -ECANCELED);
	return error;
}

/* Ends requests that became overdue in the queue. */
static void end_expired(struct link *l, uint64_t now, uint64_t *next)
{
	struct link_request *chain = NULL, *turn;
	bool any = false;

	pthread_mutex_lock(&l->lock);
	turn = l->queue.first;
	for (struct link_request *r = turn; r; r = request_queue_next(&turn, r)) {
		any = any || is_overdue(r, &now);
		*next = r->expires > now && r->expires < *next ? r->expires : *next;
	}
	if (any)
		chain = request_queue_pick(&l->queue, is_overdue, &now);
	pthread_mutex_unlock(&l->lock);
	request_chain_end(chain, -ETIMEDOUT);
}

/* Gives up an overdue request that was sent.  The connection ends only if the peer has answered no
 * other request since this one was sent, and had at least 3/4 of answer_timeout for this one.  A
 * peer that answers other requests is only slow with this one, and a request that was sent late is
 * not the peer's fault.  The connection also ends if the peer does not answer a CANCEL. */
static int end_slow(struct link *l, struct link_slot *s, struct link_request **chain)
{
	bool silent = l->heard <= s->sent;
	bool was_long = clock_ms() - s->sent >= l->settings.answer_timeout * 3 / 4;

	l->stalled = l->stalled || (silent && was_long) || s->given_up;
	if (silent && (was_long || s->given_up))
		return link_failed(l, -ETIMEDOUT, "no answer within %u ms",
				   l->settings.answer_timeout);
	if (s->given_up)
		return link_failed(l, -ETIMEDOUT, "no answer to a CANCEL");
	return give_up(l, s, -ETIMEDOUT, chain);
}

int link_end_overdue(struct link *l, uint64_t *ret_next)
{
	uint64_t now = clock_ms(), next = now + 1000;
	struct link_request *chain = NULL;
	int r = 0;

	end_expired(l, now, &next);
	for (unsigned i = 0; i < l->credits && !r; i++) {
		struct link_slot *s = &l->slots[i];

		if (s->id && s->deadline <= now)
			r = end_slow(l, s, &chain);
		if (s->id && s->deadline < next)
			next = s->deadline;
	}
	request_chain_end(chain, -ETIMEDOUT);
	*ret_next = next;
	return r;
}
