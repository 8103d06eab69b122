/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers_private.h - what the files behind peer.h share.
 *
 *   peers.c     beginning, end, status
 *   reload.c    peers come, go and change
 *   storages.c  which storage is where, as the configuration and the operator say
 *   learning.c  the same, as peers say themselves
 *   opening.c   OPEN: one candidate after the other
 *   handle.c    READ, STAT and CLOSE of what is open on a peer
 *   pool.c      where bytes go
 *   request.c   how the last three ask
 */
#ifndef VREAD_PEERS_PRIVATE_H
#define VREAD_PEERS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "peer/asking/link.h"
#include "peer/directory.h"
#include "peer/peer.h"
#include "peer/settings.h"
#include "base/counters.h"

struct peer_server;
struct rdma;
struct rdma_memory;
struct tls_context;

struct peer {
	struct peer_config
		config;       /* its own; the name stays, the rest is the control thread's, but: */
	pthread_mutex_t lock; /* of config.datanodes, for the link's thread */
	_Atomic bool may_announce; /* anything */
	bool removed;              /* it is not configured any more; the control thread's */
	struct peers *peers;
	int number;
	struct link *link;
	struct counters counters; /* of what it answered */
	_Atomic unsigned handles;
	_Atomic uint64_t announced, refused; /* storages */
	_Atomic bool heard;                  /* a whole list, once */
	uint64_t list, list_epoch; /* its link's thread's: the one it tells now, and where */
};

struct peers {
	const struct peers_config *config; /* as it was started, without its peers */
	struct block_store *store;
	struct tls_context *tls;
	struct rdma *rdma; /* NULL: not used */
	struct directory *directory;
	struct peer *peers[PEERS_MAX_EVER]; /* added by the control thread, freed with it all */
	_Atomic size_t num_peers;
	uint64_t configuration;     /* how many there were */
	struct peer_server *server; /* NULL: nobody is answered */
	sd_event *event;            /* NULL: nothing is learnt but what somebody wants */
	struct timer *learn;
	size_t learn_next;
	_Atomic uint64_t learn_wanted; /* ms: not before this ... */
	_Atomic size_t wanted_next; /* ... are those from here on asked, because a read wants it */
};

struct peer_pool {
	struct peers *peers;
	uint8_t *base;
	size_t length;
	struct rdma_memory *memory; /* NULL: without RDMA */
	_Atomic bool stopped;
	_Atomic unsigned opens; /* under way */
};

struct peer_handle {
	struct peer *peer;
	struct peer_pool *pool;
	uint64_t epoch;
	uint32_t number;
	uint64_t visible_length;
	unsigned num_entries;
	struct directory_entry *entries[]; /* of the storages it was opened by */
};

/* ---- request.c ---- */

/* NULL: out of memory.  answer, expires: as link_request's. */
struct link_request *peer_request_new(const uint8_t *message, size_t length, uint16_t answer,
				      uint64_t expires);
/* When what is asked now is overdue: ms of clock_ms(). */
uint64_t peers_deadline(const struct peers *p);
/* As link_ask(), but frees the request if it fails.  pool: whose guest waits for it; NULL: nobody. */
int peer_ask(struct peer *peer, struct peer_pool *pool, struct link_request *r);

/* ---- handle.c ---- */

/* Whether all storages it was opened by are still on its peer. */
bool peer_handle_is_current(const struct peer_handle *h);

/* ---- storages.c ---- */

/* Puts the storages of their sections into the directory, as far as they fit, and takes out what sections said
 * before. */
int peers_set_configured(struct peers *p, char **ret_error);

/* ---- reload.c ---- */

/* One more, as config says, but for its storages.  0, -EINVAL: its address is none, -ENOSPC: there were
 * PEERS_MAX_EVER, -ENOMEM. */
int peers_add(struct peers *p, const struct peer_config *config);
/* Also what is under way on it ends. */
void peer_free(struct peer *peer);

/* ---- learning.c ---- */

/* It may announce what these patterns say, from now on.  Takes over datanodes. */
void peer_set_datanodes(struct peer *peer, char *datanodes);
/* Peers that may announce something are connected to, one after the other, from now on. */
int peers_learn(struct peers *p);
/* link_settings.storages; ctx is the peer. */
void peer_on_storages(void *ctx, const struct message_storage *s, size_t count);
/* Somebody wants a storage that nobody is known to have: peers that may announce it, and were not heard
 * yet, are connected to, a few at a time.  Any thread. */
void peers_learn_wanted(struct peers *p);

#endif
