/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find.h - finds the present replica of a block in one data directory. inquiry.c and open.c call
 * it.
 */
#ifndef VREAD_READ_FIND_H
#define VREAD_READ_FIND_H

#include "read/replica_cache.h"

/*
 * Finds the replica, of which *visible bytes must be readable; NULL: all its bytes. fs and key->dir
 * must belong to served. 0 and a reference in *ret, or NULL there and negative errno as
 * block_open(). If a volume of served has moved, its images are examined again soon.
 */
int replica_find(struct replica_cache *c, struct served *served, const struct parser_fs *fs,
		 const struct replica_key *key, const uint64_t *visible,
		 struct block_replica **ret);

#endif
