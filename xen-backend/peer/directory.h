/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * directory.h - which peer has which storage.
 *
 * Called by the files behind peer.h: by opening.c and handle.c to find the peer of a storage, by
 * storages.c, learning.c and reload.c to record where storages are.
 *
 * There are three sources.  The operator's last word counts most, then the configuration, then the
 * announcements of peers.  Several peers may announce a storage.  Whose it is, the directory does
 * not decide: it asks (struct directory_judge).  Each storage is kept with the name of its
 * datanode; policies use the same name.
 *
 * The number of entries is bounded, and an entry is not freed before the directory.  Each peer can
 * add only a share of the entries.  So a peer that keeps announcing new storages or new names of
 * datanodes leaves room for the other peers.
 *
 * Threads: any.
 */
#ifndef VREAD_PEER_DIRECTORY_H
#define VREAD_PEER_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_MAX 65536U
#define DIRECTORY_MAX_DATANODES 4096U
#define DIRECTORY_MAX_EACH 4096U      /* storages that one peer announces; was the first to */
#define DIRECTORY_MAX_NAMES_EACH 256U /* datanodes' names that one peer was the first to announce */
#define DIRECTORY_NOWHERE (-1)

enum directory_source { DIRECTORY_ANNOUNCED, DIRECTORY_CONFIGURED, DIRECTORY_MOVED };

struct directory;
struct directory_entry;

/* Decides about storages that peers announce. */
struct directory_judge {
	/* True if the storage, which the peer announces, is the peer's.  Must not use the
	 * directory. */
	bool (*has)(void *ctx, int peer, const char *storage_id);
	void *ctx;
	const _Atomic uint64_t *generation; /* changes whenever has() may give another answer */
};

/* Numbers of peers are smaller than num_peers.  NULL: out of memory. */
struct directory *directory_new(size_t num_peers, const struct directory_judge *judge);
void directory_free(struct directory *d);

/* Records that the storage is on that peer; DIRECTORY_NOWHERE: on no peer.  Returns 0; -EPERM: a
 * source that counts more has set the storage; -ENOSPC: the directory is full; -ENOMEM. */
int directory_set(struct directory *d, const char *storage_id, const char *datanode, int peer,
		  enum directory_source source);
/* Records that the peer announced the storage in that list.  list: a number that no other list of
 * this peer has.  Returns as directory_set(); -ENOSPC also if the peer's share is used up. */
int directory_announce(struct directory *d, const char *storage_id, const char *datanode, int peer,
		       uint64_t list);
/* Ends a list.  The peer does not announce the storages of earlier lists any more, except those of
 * this list. */
void directory_end_announcement(struct directory *d, int peer, uint64_t list);
/* Records that the configuration puts the storage on that peer.  list: a number that no other
 * configuration has.  Returns as directory_set(). */
int directory_configure(struct directory *d, const char *storage_id, const char *datanode, int peer,
			uint64_t list);
/* Ends a configuration.  For storages that only earlier configurations named announcements count
 * again. */
void directory_end_configuration(struct directory *d, uint64_t list);
/* Removes all storages from that peer, whatever their source. */
void directory_forget(struct directory *d, int peer);
/* Forgets the operator's last word about the storage.  Announcements count again. */
void directory_forget_move(struct directory *d, const char *storage_id);
/* Calls may() with the datanode of each storage that the peer announces.  If may() returns false,
 * the peer does not announce the storage any more. */
void directory_keep_announced(struct directory *d, int peer,
			      bool (*may)(const void *ctx, const char *datanode), const void *ctx);
/* The entry stays valid as long as the directory.  NULL: the storage is unknown. */
struct directory_entry *directory_find(struct directory *d, const char *storage_id);
/* The number of the peer that has the storage now, or DIRECTORY_NOWHERE. */
int directory_peer(struct directory *d, struct directory_entry *e);
/* Calls fn() for each peer that announces a storage about which announcements count.  fn() must not
 * use the directory. */
typedef void directory_announced_fn(void *ctx, const char *storage_id, int peer);
void directory_each_announced(struct directory *d, directory_announced_fn *fn, void *ctx);
/* The storage's datanode: as the peer announces it, else the one of the peer that has the storage
 * or had it last. */
const char *directory_datanode_at(struct directory *d, const struct directory_entry *e, int peer);
const char *directory_datanode(const struct directory_entry *e);
const char *directory_storage(const struct directory_entry *e);
/* The number of storages that are on the peer now. */
size_t directory_count(struct directory *d, int peer);

#endif
