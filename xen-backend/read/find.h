/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find.h - finds the present replica of a block in one data directory. open.c calls it.
 */
#ifndef VREAD_READ_FIND_H
#define VREAD_READ_FIND_H

#include "read/replica_cache.h"

/*
 * fs and key->dir must belong to served. 0 and a reference in *ret, or negative errno as
 * block_open().
 */
int replica_find(struct replica_cache *c, struct served *served, const struct parser_fs *fs,
		 const struct replica_key *key, struct block_replica **ret);

#endif
