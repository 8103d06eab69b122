/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica_cache.h - replicas that outlive their handles.
 *
 * A positional read in HDFS opens, reads and closes.  As long as what finding a
 * block rested on holds (replica.h), finding it again would give the same answer,
 * so the answer, and what was verified of it, is kept: the least recently used
 * go first, by number and by memory.
 */
#ifndef VREAD_READ_REPLICA_CACHE_H
#define VREAD_READ_REPLICA_CACHE_H

#include "read/replica.h"

struct replica_cache;

struct replica_cache *replica_cache_new(void); /* NULL: out of memory */
void replica_cache_free(struct replica_cache *c);

/* A reference to the replica of that key, yet to be checked; or NULL. */
struct block_replica *replica_cache_find(struct replica_cache *c, const struct replica_key *key);
/* Remembers r, and none other of its key, unless it is very large or of what is no longer served. */
void replica_cache_add(struct replica_cache *c, struct block_replica *r);
/* Forgets all of what was served until now (v->retired is set already). */
void replica_cache_forget(struct replica_cache *c, const struct served *v);

#endif
