/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * directory.h - which peer has which storage.
 *
 * What an operator said last counts more than what the configuration says, and that more than what
 * a peer announces.  With each storage goes the name of its datanode, as policies know it.
 * Entries are bounded in number and stay as long as the directory, so a peer can bring only a share of
 * them: one that announces ever new storages, or names of datanodes, leaves room for the others'.
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
#define DIRECTORY_MAX_EACH 4096U      /* storages that a peer was the first to announce */
#define DIRECTORY_MAX_NAMES_EACH 256U /* the same of datanodes' names */
#define DIRECTORY_NOWHERE (-1)

enum directory_source { DIRECTORY_ANNOUNCED, DIRECTORY_CONFIGURED, DIRECTORY_MOVED };

struct directory;
struct directory_entry;

struct directory *directory_new(size_t num_peers); /* NULL: out of memory */
void directory_free(struct directory *d);

/* The storage is on that peer.  0, -EPERM: a better source said otherwise, -ENOSPC: the directory is
 * full, -ENOMEM. */
int directory_set(struct directory *d, const char *storage_id, const char *datanode, int peer,
		  enum directory_source source);
/* The same of what a peer announces; -ENOSPC: or its share is used up.  list: a number no other list of
 * this peer has. */
int directory_announce(struct directory *d, const char *storage_id, const char *datanode, int peer,
		       uint64_t list);
/* That was all of it: what the peer announced in lists before, and not in this one, is nowhere. */
void directory_end_announcement(struct directory *d, int peer, uint64_t list);
/* The same of what the configuration says: a list is a configuration, what was in none but others is
 * nowhere, and may be announced again. */
int directory_configure(struct directory *d, const char *storage_id, const char *datanode, int peer,
			uint64_t list);
void directory_end_configuration(struct directory *d, uint64_t list);
/* Of that peer nothing is known any more, whoever said it. */
void directory_forget(struct directory *d, int peer);
/* What it announced of datanodes that it may not announce (any more) is nowhere. */
void directory_keep_announced(struct directory *d, int peer,
			      bool (*may)(const void *ctx, const char *datanode), const void *ctx);
/* NULL: nothing is known of it. */
struct directory_entry *directory_find(struct directory *d, const char *storage_id);
/* Where it is now; DIRECTORY_NOWHERE. */
int directory_peer(const struct directory_entry *e);
const char *directory_datanode(const struct directory_entry *e);
const char *directory_storage(const struct directory_entry *e);
/* How many a peer has. */
size_t directory_count(struct directory *d, int peer);

#endif
