/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * directory.h - which peer has which storage.
 *
 * Called by the files behind peer.h: by opening.c and handle.c to find the peer of a storage, by
 * storages.c, learning.c and reload.c to record where storages are.
 *
 * There are three sources.  The operator's last word counts most, then the configuration, then the
 * announcement of a peer.  Of two peers that announce a storage, the first one has it until it
 * withdraws the storage; then the other one has it.  Each storage is kept with the name of its
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
#define DIRECTORY_MAX_EACH 4096U      /* storages that one peer was the first to announce */
#define DIRECTORY_MAX_NAMES_EACH 256U /* datanodes' names that one peer was the first to announce */
#define DIRECTORY_NOWHERE (-1)

enum directory_source { DIRECTORY_ANNOUNCED, DIRECTORY_CONFIGURED, DIRECTORY_MOVED };

struct directory;
struct directory_entry;

/* Numbers of peers are smaller than num_peers.  NULL: out of memory. */
struct directory *directory_new(size_t num_peers);
void directory_free(struct directory *d);

/* Records that the storage is on that peer; DIRECTORY_NOWHERE: on no peer.  Returns 0; -EPERM: a
 * source that counts more has set the storage; -ENOSPC: the directory is full; -ENOMEM. */
int directory_set(struct directory *d, const char *storage_id, const char *datanode, int peer,
		  enum directory_source source);
/* Records that the peer announced the storage in that list.  list: a number that no other list of
 * this peer has.  Returns as directory_set(); -ENOSPC also if the peer's share is used up; -EEXIST:
 * another peer announced the storage first, and still has it. */
int directory_announce(struct directory *d, const char *storage_id, const char *datanode, int peer,
		       uint64_t list);
/* Ends a list.  Storages that the peer announced in earlier lists, and not in this one, are on no
 * peer from now on, or on the peer that announced them after this one. */
void directory_end_announcement(struct directory *d, int peer, uint64_t list);
/* Records that the configuration puts the storage on that peer.  list: a number that no other
 * configuration has.  Returns as directory_set(). */
int directory_configure(struct directory *d, const char *storage_id, const char *datanode, int peer,
			uint64_t list);
/* Ends a configuration.  Storages that only earlier configurations named are on no peer from now
 * on, and peers may announce them again. */
void directory_end_configuration(struct directory *d, uint64_t list);
/* Removes all storages from that peer, whatever their source.  Peers may announce them again. */
void directory_forget(struct directory *d, int peer);
/* Calls may() with the datanode of each storage that the peer has announced and still has.  If
 * may() returns false, the storage is on no peer from now on. */
void directory_keep_announced(struct directory *d, int peer,
			      bool (*may)(const void *ctx, const char *datanode), const void *ctx);
/* The entry stays valid as long as the directory.  NULL: the storage is unknown. */
struct directory_entry *directory_find(struct directory *d, const char *storage_id);
/* The number of the peer that has the storage now, or DIRECTORY_NOWHERE. */
int directory_peer(const struct directory_entry *e);
/* False: the configuration or the operator says where the storage is. */
bool directory_is_announced(const struct directory_entry *e);
/* Calls fn() for each storage that two peers announce.  rival: the peer that was not the first, and
 * may be one of several.  fn() must not use the directory. */
typedef void directory_rival_fn(void *ctx, const char *storage_id, int rival, int peer);
void directory_each_rival(struct directory *d, directory_rival_fn *fn, void *ctx);
const char *directory_datanode(const struct directory_entry *e);
const char *directory_storage(const struct directory_entry *e);
/* The number of storages that are on the peer now. */
size_t directory_count(struct directory *d, int peer);

#endif
