// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * by_rdma.c - sends READs by RDMA where possible, else by TLS.
 *
 * Called by connect.c, arrivals.c and connection.c, on the link's thread.
 *
 * The RDMA fabric may be broken although TLS works.  Then READs go by TLS on the same connection,
 * and RDMA is tried again after pauses (rdma/dial.h).  If a queue pair that was up fails, the
 * connection ends.  If that queue pair had carried no bytes, the next connections do not use RDMA
 * for a while: perhaps only small packets pass the fabric.
 */
#include "peer/asking/link_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define LONGEST_PATIENCE 1000U /* ms that READs wait for RDMA; their guests wait meanwhile */
#define WITHOUT_RDMA 60000U    /* ms */
#define SHORTEST_GIVE_UP 1500U /* ms; a fabric may need that long, even if requests may not */

unsigned link_usable_transports(struct link *l)
{
	unsigned usable =
		l->settings.transports & ~(l->settings.rdma ? 0U : MESSAGE_TRANSPORT_RDMA);
	unsigned frames;

	pthread_mutex_lock(&l->lock);
	frames = l->frames;
	pthread_mutex_unlock(&l->lock);
	return usable | (usable & MESSAGE_TRANSPORT_TLS ? frames : 0U);
}

static struct rdma_choice choose(const struct link *l)
{
	uint64_t now = clock_ms();
	struct rdma_choice c = {.or_tls = l->settings.transports & MESSAGE_TRANSPORT_TLS,
				.patience = l->settings.answer_timeout / 4,
				.give_up = l->settings.answer_timeout};

	if (c.give_up < SHORTEST_GIVE_UP)
		c.give_up = SHORTEST_GIVE_UP;
	if (c.patience > LONGEST_PATIENCE)
		c.patience = LONGEST_PATIENCE;
	if (c.or_tls && now < l->no_rdma_until)
		c.pause = (unsigned)(l->no_rdma_until - now);
	return c;
}

int link_use_rdma(struct link *l, unsigned credits)
{
	char *error = NULL;
	struct rdma_choice choice = choose(l);
	struct transport *t = rdma_ask(l->settings.rdma, (const struct sockaddr *)&l->to.socket,
				       &l->secret, credits, &choice, l->transport, &error);
	int r = t ? 0 : link_failed(l, -ENOTCONN, "%s", error ? error : "out of memory");

	free(error);
	if (t) {
		l->transport = t;
		l->by_rdma = true;
		l->rdma_error[0] = '\0';
		memset(&l->counted, 0, sizeof(l->counted));
	}
	return r;
}

void link_note_way(struct link *l)
{
	const char *why, *name;

	if (!l->by_rdma)
		return;
	name = rdma_goes_by_tls(l->transport, &why) ? "tls" : "rdma";
	pthread_mutex_lock(&l->lock);
	l->transport_name = name;
	if (strcmp(why, l->rdma_error)) {
		snprintf(l->rdma_error, sizeof(l->rdma_error), "%s", why);
		snprintf(l->last_error, sizeof(l->last_error), "%s", why);
		log_peer(LOG_LEVEL_WARN, l->settings.name, "%s: reads use TLS", why);
	}
	pthread_mutex_unlock(&l->lock);
}

void link_end_rdma(struct link *l)
{
	if (l->by_rdma && rdma_has_failed(l->transport) &&
	    l->counted.direct + l->counted.bounced == 0)
		l->no_rdma_until = clock_ms() + WITHOUT_RDMA;
	l->by_rdma = false;
}
