/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers_private.h - data structures and functions that the files behind peer.h share.
 *
 * Included by these files only:
 *
 *   peers.c     start, end and status of the peers
 *   reload.c    adds, changes and removes peers
 *   storages.c  storages set by the configuration and by the operator
 *   learning.c  storages announced by the peers
 *   streams.c   the connections to one peer
 *   opening.c   OPEN: asks one peer after the other
 *   handle.c    READ, STAT and CLOSE of blocks that are open on a peer
 *   conflicts.c storages that a peer announces and does not have
 *   pool.c      guests' pools, which the bytes go to
 *   request.c   makes requests and gives them to the link of a peer
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
#include "base/pace.h"
#include "datanode/owners.h"

struct peer_server;
struct rdma;
struct rdma_memory;
struct tls_context;

/* One connection to a peer. */
struct stream {
	struct link *link;
	_Atomic uint64_t expected; /* bytes that READs under way have asked for */
};

struct peer {
	/* The peer's own copy.  name never changes.  The other members belong to the control
	 * thread; the link's thread reads datanodes, too. */
	struct peer_config config;
	pthread_mutex_t lock;      /* protects config.datanodes */
	_Atomic bool may_announce; /* config.datanodes is not empty */
	bool removed;              /* not configured any more; control thread only */
	struct peers *peers;
	int number;
	char party[OWNERS_MAX_NAME + 1]; /* its name in datanode/owners.h */
	struct stream streams[PEER_MAX_STREAMS];
	unsigned num_streams;     /* at least 1; never changes */
	struct counters counters; /* what the peer answered */
	_Atomic unsigned handles;
	_Atomic uint64_t announced, refused; /* storages */
	_Atomic bool heard;                  /* a whole list since datanodes was set */
	/* The number of the list that is being announced, link_epoch() of its connection, and how
	 * many storages it has had.  Thread of the first link only, as the pace of lists. */
	uint64_t list, list_epoch, listed;
	bool in_list;
	struct pace lists;
};

struct peers {
	const struct peers_config *config; /* from vreadd's start; its peers are not used */
	struct block_store *store;
	struct tls_context *tls;
	struct rdma *rdma; /* NULL: not used */
	struct directory *directory;
	struct owners *owners;              /* the registry's */
	struct peer *peers[PEERS_MAX_EVER]; /* the control thread adds; peers_free() frees */
	_Atomic size_t num_peers;
	uint64_t configuration;     /* number of the newest configuration, for the directory */
	struct peer_server *server; /* NULL: no peer is answered */
	sd_event *event;            /* NULL: peers are not connected to in turn */
	struct timer *learn;
	size_t learn_next;    /* the next peer of the round */
	unsigned learn_round; /* 0: the round is for all peers */
	/* For peers_learn_wanted(): the time of the next round in ms, and the peer it begins
	 * with. */
	_Atomic uint64_t learn_wanted;
	_Atomic size_t wanted_next;
};

struct peer_pool {
	struct peers *peers;
	uint8_t *base;
	size_t length;
	struct rdma_memory *memory; /* NULL: without RDMA */
	_Atomic bool stopped;
	_Atomic unsigned opens; /* OPENs under way */
};

struct peer_handle {
	struct peer *peer;
	struct stream *stream;
	struct peer_pool *pool;
	uint64_t epoch;
	uint32_t number;
	uint64_t visible_length;
	bool encrypt, mac; /* bytes must come encrypted; encrypted or with a MAC */
	unsigned num_entries;
	struct directory_entry *entries[]; /* of the storages the block was opened by */
};

/* ---- request.c ---- */

/* A request with a copy of the message.  answer, expires: as in struct link_request.  NULL: out of
 * memory. */
struct link_request *peer_request_new(const uint8_t *message, size_t length, uint16_t answer,
				      uint64_t expires);
/* The time when a request made now is overdue, in ms of clock_ms(). */
uint64_t peers_deadline(const struct peers *p);
/* As link_ask(), but frees r on failure; -EAGAIN also if the pool was stopped.  pool: the pool of
 * the guest that waits for the answer; NULL: no guest waits. */
int peer_ask(struct stream *stream, struct peer_pool *pool, struct link_request *r);

/* ---- streams.c ---- */

/* Makes the peer's links, and sets address and frames of its settings.  0; -EINVAL: the address is
 * malformed; -ENOMEM.  After a failure, too, streams_free() must follow. */
int streams_new(struct peer *peer);
/* Ends all operations under way. */
void streams_free(struct peer *peer);
/* The stream on which a block is to be opened now.  Any thread, as the next functions. */
struct stream *streams_choose(struct peer *peer);
/* True if it is known that a request would fail now, on any stream. */
bool streams_are_down(struct peer *peer);
/* link_stop(), link_set_address() and link_set_frames() for all streams.  An address that is
 * malformed or empty: the peer cannot be connected to. */
void streams_stop(struct peer *peer, const void *owner);
void streams_set_address(struct peer *peer, const char *address);
void streams_set_frames(struct peer *peer, unsigned frames);
/* As link_status(), with sums of the numbers, and streams: how many connections are up. */
void streams_status(struct peer *peer, json_t *o);

/* ---- handle.c ---- */

/* True if all storages that the block was opened by are still on the handle's peer. */
bool peer_handle_is_current(const struct peer_handle *h);

/* ---- storages.c ---- */

/* Tells owners.h who the peers are.  Puts the storages of all [peer] sections into the directory,
 * as far as they fit, and takes out those that only earlier sections named.  0, or the first error
 * with *ret_error (free() it; it may be NULL). */
int peers_set_configured(struct peers *p, char **ret_error);

/* ---- conflicts.c ---- */

/* Adds "conflicts" to the objects of peers that announce what they do not have.  all: the objects,
 * by the number of the peer; NULL: the peer was removed. */
void peers_tell_conflicts(struct peers *p, json_t *const *all);

/* ---- reload.c ---- */

/* Adds the peer of config, without its storages.  0; -EINVAL: the address is malformed; -ENOSPC:
 * there have been PEERS_MAX_EVER peers; -ENOMEM. */
int peers_add(struct peers *p, const struct peer_config *config);
/* Ends all operations under way on the peer, too. */
void peer_free(struct peer *peer);

/* ---- learning.c ---- */

/* From now on the peer may announce the storages of datanodes that match these patterns.  Takes
 * over datanodes. */
void peer_set_datanodes(struct peer *peer, char *datanodes);
/* Begins a round that connects to all peers that may announce storages, one after the other.
 * Further rounds follow.  0 or negative errno. */
int peers_learn(struct peers *p);
/* The callback link_settings.storages; ctx is the peer. */
int peer_on_storages(void *ctx, const struct message_storage *s, size_t count);
/* Called when a read wants storages and no peer is known to have any of them.  Connects to peers
 * that may announce storages and have not announced a whole list yet, a few at a time.  Any
 * thread. */
void peers_learn_wanted(struct peers *p);

#endif
