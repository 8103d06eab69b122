/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replica_cache.h - keeps replicas after their handles were closed. find.c looks up and adds
 * replicas. store.c owns the cache.
 *
 * A positional read in HDFS opens, reads and closes. As long as the basis of a search holds
 * (replica.h), another search for the block would give the same result. So the cache keeps the
 * result. The cache is bounded by number and by memory. The least recently used replicas are
 * dropped first.
 */
#ifndef VREAD_READ_REPLICA_CACHE_H
#define VREAD_READ_REPLICA_CACHE_H

#include "read/replica.h"

struct replica_cache;

struct replica_cache *replica_cache_new(void); /* NULL: out of memory */
void replica_cache_free(struct replica_cache *c);

/*
 * Returns a reference to the replica of key, or NULL. The caller must check the replica
 * (replica_check()).
 */
struct block_replica *replica_cache_find(struct replica_cache *c, const struct replica_key *key);
/*
 * Adds r in place of any other replica with the same key. Does not add a very large replica, or a
 * replica that is no longer served.
 */
void replica_cache_add(struct replica_cache *c, struct block_replica *r);
/* Drops all replicas that belong to v. v is no longer served, and v->retired is set already. */
void replica_cache_forget(struct replica_cache *c, const struct served *v);

#endif
