// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements replica.h: replicas and their record of verified units. The other files of read/ call
 * it.
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
	uint64_t units = files->data.size / REPLICA_UNIT + (files->data.size % REPLICA_UNIT != 0);
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
	if (replica_is_still(r) && units <= REPLICA_MAX_UNITS) {
		r->verified = calloc(units / 64 + 1, sizeof(*r->verified));
		r->num_units = r->verified ? units : 0;
	}
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
	free((void *)r->verified);
	served_put(r->served);
	free(r);
}

/* The array of extents has room for more. The bytes of a small file are kept as content. */
static size_t file_weight(const struct fs_file *f)
{
	return 2 * sizeof(struct fs_extent) * f->num_extents + (f->content ? f->size : 0);
}

size_t replica_weight(const struct block_replica *r)
{
	return sizeof(*r) + r->num_units / 8 + parser_basis_weight(r->basis) +
	       file_weight(&r->files.data) + file_weight(&r->files.meta);
}

bool replica_is_verified(const struct block_replica *r, uint64_t offset, uint64_t length)
{
	uint64_t last = (offset + length - 1) / REPLICA_UNIT;

	if (length == 0 || last >= r->num_units)
		return false;
	for (uint64_t u = offset / REPLICA_UNIT; u <= last; u++)
		if (!(atomic_load(&r->verified[u / 64]) >> (u % 64) & 1))
			return false;
	return true;
}

void replica_set_verified(struct block_replica *r, uint64_t offset, uint64_t length)
{
	uint64_t end = offset + length;

	for (uint64_t u = (offset + REPLICA_UNIT - 1) / REPLICA_UNIT; u < r->num_units; u++) {
		uint64_t unit_end = (u + 1) * REPLICA_UNIT;

		if (unit_end > r->files.data.size)
			unit_end = r->files.data.size;
		if (unit_end > end)
			return;
		atomic_fetch_or(&r->verified[u / 64], UINT64_C(1) << (u % 64));
	}
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
