// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strangers.c - bounds the connections that are not authenticated yet.  receiver.c and conn.c call
 * these functions on the receiver thread.
 *
 * Anybody who reaches the port can connect.  So such connections are few: of one address, of all
 * addresses together, and, apart from these, of the addresses in [peer] sections.  Strangers can
 * therefore not take the room of a host that is configured with its address.
 *
 * One connection too many replaces an older one: the oldest that has sent nothing, else the oldest.
 * So connections that send nothing do not keep out a host that authenticates at the same time.
 */
#include "peer/answering/server_private.h"

#include <string.h>

#define MAX_EACH 8U /* of one address */

bool server_expects(const struct peer_server *s, uint64_t source)
{
	size_t count = atomic_load(&s->num_clients);

	for (size_t i = 0; source && i < count; i++)
		if (atomic_load(&s->clients[i]->source) == source)
			return true;
	return false;
}

/* True if both count against one bound.  each: the bound of an address. */
static bool is_beside(const struct conn *a, const struct conn *b, bool each)
{
	return a->expected == b->expected && (!each || a->source == b->source);
}

static unsigned count_beside(const struct peer_server *s, const struct conn *c, bool each)
{
	unsigned count = 0;

	for (unsigned i = 0; i < s->num_strangers; i++)
		count += is_beside(s->strangers[i], c, each);
	return count;
}

static struct conn *choose(const struct peer_server *s, const struct conn *c, bool each)
{
	struct conn *oldest = NULL;

	for (unsigned i = 0; i < s->num_strangers; i++) {
		if (!is_beside(s->strangers[i], c, each))
			continue;
		if (!s->strangers[i]->spoke)
			return s->strangers[i];
		if (!oldest)
			oldest = s->strangers[i];
	}
	return oldest;
}

struct conn *strangers_replaced(const struct peer_server *s, const struct conn *c)
{
	unsigned most = c->expected ? SERVER_MAX_EXPECTED : SERVER_MAX_STRANGERS;

	if (count_beside(s, c, true) >= MAX_EACH)
		return choose(s, c, true);
	return count_beside(s, c, false) >= most ? choose(s, c, false) : NULL;
}

void strangers_add(struct peer_server *s, struct conn *c)
{
	pthread_mutex_lock(&s->lock);
	s->strangers[s->num_strangers++] = c;
	pthread_mutex_unlock(&s->lock);
}

void strangers_remove(struct peer_server *s, const struct conn *c)
{
	unsigned i = 0;

	while (i < s->num_strangers && s->strangers[i] != c)
		i++;
	if (i == s->num_strangers)
		return;
	pthread_mutex_lock(&s->lock);
	s->num_strangers--;
	memmove(s->strangers + i, s->strangers + i + 1,
		(s->num_strangers - i) * sizeof(s->strangers[0]));
	pthread_mutex_unlock(&s->lock);
}
