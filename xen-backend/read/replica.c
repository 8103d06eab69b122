// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements replica.h. The other files of read/ call it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/replica.h"

struct block_replica *replica_new(struct served *served, const struct parser_fs *fs,
				  const struct replica_key *key, struct block_files *files,
				  struct parser_basis *basis)
{
	struct block_replica *r = calloc(1, sizeof(*r));
	char *pool = strdup(key->pool);

	if (!r || !pool) {
		block_files_clear(files);
		parser_basis_free(basis);
		free(pool);
		free(r);
		return NULL;
	}
	atomic_init(&r->references, 1);
	r->served = served_get(served);
	r->fs = fs;
	r->key = *key;
	r->key.pool = pool;
	r->files = *files;
	r->basis = basis;
	r->direct = fs && volume_is_direct(fs->volume);
	return r;
}

struct block_replica *replica_get(struct block_replica *r)
{
	atomic_fetch_add(&r->references, 1);
	return r;
}

void replica_put(struct block_replica *r)
{
	if (!r || atomic_fetch_sub(&r->references, 1) != 1)
		return;
	block_files_clear(&r->files);
	parser_basis_free(r->basis);
	free((char *)r->key.pool);
	served_put(r->served);
	free(r);
}

static size_t file_weight(const struct fs_file *f)
{
	unsigned room = f->num_extents ? 4 : 0; /* as fs_file_extend() makes room */

	while (room < f->num_extents)
		room *= 2;
	return room * sizeof(struct fs_extent) + (f->content ? f->size : 0);
}

size_t replica_weight(const struct block_replica *r)
{
	return sizeof(*r) + strlen(r->key.pool) + 1 + parser_basis_weight(r->basis) +
	       file_weight(&r->files.data) + file_weight(&r->files.meta);
}

int replica_check(const struct block_replica *r)
{
	if (r->served && atomic_load(&r->served->retired))
		return -EAGAIN;
	return served_judge(r->served, parser_check(r->fs, r->basis, &r->files));
}

bool replica_is_still(const struct block_replica *r)
{
	return parser_basis_is_clean(r->basis);
}

bool replica_is_direct(const struct block_replica *r)
{
	return r->direct;
}
