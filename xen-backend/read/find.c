// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements find.h: takes the replica from the cache if the cached replica is still valid, else
 * looks for it in the image. inquiry.c and open.c call it.
 */
#include "read/find.h"

#include <errno.h>

#include "datanode/datanode.h"
#include "layout/layout.h"
#include "read/piece.h"

/* As replica_find(), of any length. */
static int find(struct replica_cache *c, struct served *served, const struct parser_fs *fs,
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

/*
 * The .meta file of a finalized replica covers the whole replica. The .meta file of a replica being
 * written covers at least the length promised to the reader.
 */
static int check_length(const struct block_replica *r, uint64_t visible)
{
	const struct block_files *f = &r->files;
	uint64_t expected;

	if (visible > f->data.size)
		return -ERANGE;
	if (!meta_expected_length(&f->header, f->finalized ? f->data.size : visible, &expected) ||
	    expected > f->meta.size)
		return -EILSEQ;
	return 0;
}

int replica_find(struct replica_cache *c, struct served *served, const struct parser_fs *fs,
		 const struct replica_key *key, const uint64_t *visible, struct block_replica **ret)
{
	uint64_t end;
	int r;

	*ret = NULL;
	r = find(c, served, fs, key, ret);
	if (atomic_load(&served->moved))
		datanode_look_soon(served->datanode);
	if (r < 0)
		return r;
	end = visible ? *visible : (*ret)->files.data.size;
	r = check_length(*ret, end);
	if (!replica_is_still(*ret))
		r = r == 0 ? piece_check_holes(*ret, end) : block_not_yet(r);
	if (r < 0) {
		replica_put(*ret);
		*ret = NULL;
	}
	return r;
}
