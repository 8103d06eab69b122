// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * credits.c - bounds what a peer may have under way here.  requests.c and workers.c call these
 * functions.
 *
 * A peer may have SERVER_CREDITS requests unanswered.  A short answer counts as unanswered until
 * the transport has sent the answer.  So a peer that takes no answers cannot make this host store
 * many of them.  The bytes of a READ need no such rule, because the buffers bound them.
 *
 * Each request gives the right to one CANCEL.  A peer never has more than SERVER_CREDITS requests
 * to cancel, so unused rights are kept only up to a bound.  The bound is twice as high because a
 * CANCEL, which goes over TLS, may overtake its READ, which goes over a queue pair.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define MAX_CANCELS (2 * SERVER_CREDITS)

int conn_take_credit(struct conn *c)
{
	if (c->requests == SERVER_CREDITS)
		return -EPROTO;
	c->requests++;
	if (c->cancels < MAX_CANCELS)
		c->cancels++;
	return 0;
}

int conn_take_cancel(struct conn *c)
{
	if (!c->cancels)
		return -EPROTO;
	c->cancels--;
	return 0;
}

/* The transport has sent the answer, or the transport is gone. */
static void release_answer(struct outgoing *o)
{
	struct conn *c = o->owner;

	pthread_mutex_lock(&c->server->lock);
	c->requests--;
	c->moved = clock_ms();
	pthread_mutex_unlock(&c->server->lock);
	free(o);
}

void conn_send_short(struct conn *c, struct outgoing *o)
{
	o->owner = c;
	o->release = release_answer;
	if (c->transport)
		c->transport->ops->send(c->transport, o);
	else
		o->release(o);
}
