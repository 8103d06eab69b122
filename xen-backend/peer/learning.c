// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * learning.c - takes the storages that peers announce, and connects to peers so that they announce.
 *
 * peers.c and reload.c start and change the rounds, opening.c asks for storages that a read wants,
 * and the peers' links call peer_on_storages().
 *
 * An announcement counts only for datanodes that match the peer's setting datanodes.  Peers without
 * this setting are skipped.  The other peers are connected to one after the other, in rounds, and
 * announce their storages.  A peer that has announced a whole list is part of a round every few
 * minutes.  A peer that has not is part of each round: two hosts that start together must not wait
 * minutes for each other because one of them was ready first.
 *
 * When a read wants a storage that is on no known peer, peers that have not announced a whole list
 * yet are connected to again, as often as the pauses of their links allow.  Peers that have
 * announced a whole list are not: they have announced all their storages.
 *
 * Whose a storage is that a peer announces, datanode/owners.h decides.  A storage that nobody has
 * shown before is used only when the other peers were heard, or the first round is over: of two
 * that show one storage none was the first then.
 *
 * A peer may announce lists at a pace, also over several connections.  A host that answers
 * announces a list on each connection and at most every half second.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/timer.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "vreadif.h"

#define LEARN_STEP 100U   /* ms between two peers of a round */
#define LEARN_PAUSE 5000U /* ms between rounds */
#define LEARN_ALL 60U     /* the first of so many rounds is for all peers, each 5 minutes */
#define WANTED_AT_ONCE 8U /* peers that one call of peers_learn_wanted() may connect to */
#define WANTED_PAUSE 100U /* ms until the next call may connect */

static const struct pace_limit list_limit = {.burst = 1000, .each_ms = 100};

/* True if name matches one of the patterns in `all`, which are separated by spaces. */
static bool matches(const void *all, const char *name)
{
	const char *patterns = all;
	char pattern[VREAD_MAX_POOL_ID + 1];

	while (*(patterns += strspn(patterns, " "))) {
		size_t length = strcspn(patterns, " ");

		if (length < sizeof(pattern)) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (fnmatch(pattern, name, 0) == 0)
				return true;
		}
		patterns += length;
	}
	return false;
}

void peer_set_datanodes(struct peer *peer, char *datanodes)
{
	pthread_mutex_lock(&peer->lock);
	free(peer->config.datanodes);
	peer->config.datanodes = datanodes;
	pthread_mutex_unlock(&peer->lock);
	atomic_store(&peer->may_announce, datanodes[0]);
	atomic_store(&peer->heard, false);
	directory_keep_announced(peer->peers->directory, peer->number, matches, datanodes);
}

/* True if a peer may still announce its first whole list in this round. */
static bool is_any_awaited(const struct peers *p)
{
	size_t count = atomic_load(&p->num_peers);

	for (size_t i = 0; i < count; i++)
		if (atomic_load(&p->peers[i]->may_announce) && !atomic_load(&p->peers[i]->heard))
			return true;
	return false;
}

static void settle(struct peers *p)
{
	owners_settle(p->owners, OWNERS_PEERS);
	registry_peers_changed(block_store_registry(p->store));
}

static void begin_list(struct peer *peer)
{
	peer->in_list = true;
	peer->listed = 0;
	peer->list++;
	owners_begin_list(peer->peers->owners, peer->party);
}

static void end_list(struct peer *peer)
{
	struct peers *p = peer->peers;

	peer->in_list = false;
	directory_end_announcement(p->directory, peer->number, peer->list);
	owners_end_list(p->owners, peer->party);
	atomic_store(&peer->heard, true);
	if (is_any_awaited(p))
		registry_peers_changed(block_store_registry(p->store));
	else
		settle(p);
}

/* True if the storage is the peer's. */
static bool take(struct peer *peer, const struct message_storage *s)
{
	char other[OWNERS_MAX_NAME + 1];
	enum owners_verdict verdict;

	if (!matches(peer->config.datanodes, s->datanode))
		return false;
	verdict = owners_show(peer->peers->owners, peer->party, s->id, other);
	return verdict != OWNERS_FULL &&
	       directory_announce(peer->peers->directory, s->id, s->datanode, peer->number,
				  peer->list) == 0 &&
	       (verdict == OWNERS_ITS || verdict == OWNERS_AWAITED);
}

/* On the thread of the first link. */
int peer_on_storages(void *ctx, const struct message_storage *s, size_t count)
{
	struct peer *peer = ctx;
	uint64_t epoch = link_epoch(peer->streams[0].link);

	if (!peer->in_list || epoch != peer->list_epoch)
		begin_list(peer); /* the list of the last connection may be incomplete */
	peer->list_epoch = epoch;
	peer->listed += count;
	if (peer->listed > DIRECTORY_MAX)
		return -E2BIG;
	pthread_mutex_lock(&peer->lock);
	for (size_t i = 0; i < count; i++)
		atomic_fetch_add(take(peer, &s[i]) ? &peer->announced : &peer->refused, 1);
	pthread_mutex_unlock(&peer->lock);
	if (count)
		return 0;
	end_list(peer);
	if (pace_wait(&peer->lists, &list_limit, clock_ms()))
		return -EBUSY;
	pace_use(&peer->lists, &list_limit, clock_ms());
	return 0;
}

/* True if connecting to the peer may bring its first whole list. */
static bool may_be_asked(const struct peer *peer)
{
	return atomic_load(&peer->may_announce) && !atomic_load(&peer->heard) &&
	       !link_is_down(peer->streams[0].link);
}

static bool is_in_this_round(const struct peers *p, const struct peer *peer)
{
	return p->learn_round == 0 ? atomic_load(&peer->may_announce) : may_be_asked(peer);
}

/* Connects to the next peer of the round.  Ends the round if there is none. */
static void on_learn(void *peers)
{
	struct peers *p = peers;
	uint64_t pause = LEARN_STEP;

	while (p->learn_next < p->num_peers && !is_in_this_round(p, p->peers[p->learn_next]))
		p->learn_next++;
	if (p->learn_next < p->num_peers) {
		link_wake(p->peers[p->learn_next++]->streams[0].link);
	} else {
		if (p->learn_round > 0)
			settle(p);
		p->learn_next = 0;
		p->learn_round = (p->learn_round + 1) % LEARN_ALL;
		pause = LEARN_PAUSE;
	}
	timer_start(&p->learn, p->event, pause, on_learn, p);
}

int peers_learn(struct peers *p)
{
	p->learn_next = 0;
	p->learn_round = 0;
	if (!p->event || !is_any_awaited(p))
		settle(p);
	else
		owners_unsettle(p->owners, OWNERS_PEERS);
	if (!p->event || !p->num_peers)
		return 0;
	return timer_start(&p->learn, p->event, LEARN_STEP, on_learn, p);
}

void peers_learn_wanted(struct peers *p)
{
	uint64_t now = clock_ms(), not_before = atomic_load(&p->learn_wanted);
	size_t num_peers = atomic_load(&p->num_peers);
	unsigned woken = 0;

	if (now < not_before ||
	    !atomic_compare_exchange_strong(&p->learn_wanted, &not_before, now + WANTED_PAUSE))
		return;
	for (size_t i = 0; i < num_peers && woken < WANTED_AT_ONCE; i++) {
		struct peer *peer = p->peers[atomic_fetch_add(&p->wanted_next, 1) % num_peers];

		if (may_be_asked(peer)) {
			link_wake(peer->streams[0].link);
			woken++;
		}
	}
}
