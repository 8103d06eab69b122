// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements find.h: takes the replica from the cache if the cached replica is still valid, else
 * looks for it in the image. open.c calls it.
 */
#include "read/find.h"

#include <errno.h>

#include "layout/layout.h"

int replica_find(struct replica_cache *c, struct served *served, const struct parser_fs *fs,
		 const struct replica_key *key, struct block_replica **ret)
{
	struct block_replica *known = replica_cache_find(c, key);
	const struct layout_data_dir *dir = key->dir;
	struct block_files files;
	struct parser_basis *basis;
	int r;

	if (known && replica_check(known) == 0) {
		*ret = known;
		return 0;
	}
	replica_put(known);
	r = parser_locate(fs, dir->path, key->pool, key->id, key->genstamp, &files, &basis);
	if (r < 0)
		return served_judge(served, r);
	*ret = replica_new(served, fs, key, &files, basis);
	if (!*ret)
		return -ENOMEM;
	replica_cache_add(c, *ret);
	return 0;
}
