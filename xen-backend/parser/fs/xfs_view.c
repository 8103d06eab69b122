// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads inodes and blocks of an XFS as of one moment; see xfs.h.  xfs.c, xfs_map.c and xfs_dir.c
 * call these functions.
 *
 * A view reads each inode and each block once, keeps the content, and records the key.  At the end
 * the view checks that no checkpoint committed since its beginning has changed one of these keys.
 * Then the view has seen one committed state.
 *
 * While a file system is not mounted, a repair may change the file system and leaves no trace in
 * the log.  So while the file system is idle (struct xfs_now), nothing is kept from one view to the
 * next.  Each check of an answer then also reads the inodes and blocks the answer rests on again
 * and compares them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/xfs.h"

/* Bytes of metadata that one view may read.  The budget is enough for directories with a hundred
 * thousand entries and for the extent tree of a badly fragmented file.  A view that needs more is
 * following a loop in the metadata. */
#define VIEW_BUDGET (32U << 20)

int xfs_view_begin(struct xfs_view *v, const char **ret_reason)
{
	struct fs *fs = v->view.fs;
	int r = xfs_log_refresh(v->log, fs, &v->since, NULL, ret_reason);

	if (r < 0)
		return r;
	v->view.live = true;
	v->budget = VIEW_BUDGET;
	v->index = TABLE_OF(struct fs_read);
	return 0;
}

void xfs_view_end(struct xfs_view *v)
{
	for (uint32_t i = 0; i < v->count; i++)
		meta_block_put(v->reads[i]);
	free(v->reads);
	table_clear(&v->index);
}

static int add_read(struct xfs_view *v, struct meta_block *m)
{
	struct fs_read *read;

	if (v->count == v->capacity) {
		uint32_t capacity = v->capacity ? 2 * v->capacity : 32;
		struct meta_block **reads = reallocarray(v->reads, capacity, sizeof(*reads));

		if (!reads)
			return -ENOMEM;
		v->reads = reads;
		v->capacity = capacity;
	}
	read = table_put(&v->index, m->block);
	if (!read)
		return -ENOMEM;
	read->at = v->count;
	v->reads[v->count++] = m;
	return 0;
}

int xfs_view_read(struct xfs_view *v, uint64_t key, const struct meta_block **ret)
{
	const struct fs_read *known = table_find(&v->index, key);
	struct meta_block *m;
	uint64_t offset;
	uint32_t size;
	int r;

	if (known) {
		*ret = v->reads[known->at];
		return 0;
	}
	if (!xfs_key_place(&v->since.super, key, &offset, &size) || size > v->budget)
		return -EIO;
	v->budget -= size;
	r = xfs_log_read(v->log, v->view.fs, &v->since.super, key, &m);
	v->lost |= r == -EAGAIN;
	if (r < 0)
		return r;
	r = add_read(v, m);
	if (r < 0)
		meta_block_put(m);
	else
		*ret = m;
	return r;
}

int xfs_view_inode(struct xfs_view *v, uint64_t number, const uint8_t **ret)
{
	const struct meta_block *m;
	int r = number & XFS_KEY_INODE ? -EIO : xfs_view_read(v, XFS_KEY_INODE | number, &m);

	if (r < 0)
		return r;
	*ret = m->data;
	return xfs_origin(&v->since.super, m) == XFS_DAMAGED ? -EIO : 0;
}

/* ---- what an answer rests on ---- */

static uint64_t digest_add(uint64_t digest, const uint8_t *data, size_t length)
{
	for (size_t i = 0; i + 8 <= length; i += 8) {
		uint64_t word;

		memcpy(&word, data + i, sizeof(word));
		digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		digest ^= digest >> 29;
	}
	return digest;
}

/* Reads the inode or block of a key from its own place in the volume and adds the bytes to *digest.
 * expected: NULL, or the bytes that must be there.  -EAGAIN: other bytes are there. */
static int digest_home(struct fs *fs, const struct xfs_super *s, uint64_t key,
		       const uint8_t *expected, uint8_t *buffer, uint64_t *digest)
{
	uint64_t offset;
	uint32_t size;
	int r;

	if (!xfs_key_place(s, key, &offset, &size))
		return -EAGAIN;
	r = volume_read(fs->volume, offset, buffer, size);
	if (r < 0)
		return r;
	if (expected && memcmp(expected, buffer, size))
		return -EAGAIN;
	*digest = digest_add(*digest, buffer, size);
	return 0;
}

static int compare_reads(struct xfs_view *v, const struct xfs_super *s, uint64_t *ret)
{
	uint8_t *buffer = malloc(s->block_size);
	int r = buffer ? 0 : -ENOMEM;

	*ret = 0;
	for (uint32_t i = 0; i < v->count && r == 0; i++)
		r = digest_home(v->view.fs, s, v->reads[i]->block, v->reads[i]->data, buffer, ret);
	free(buffer);
	return r;
}

static int compare_basis(struct fs *fs, const struct xfs_super *s, const struct fs_basis *b)
{
	uint8_t *buffer = malloc(s->block_size);
	uint64_t digest = 0;
	int r = buffer ? 0 : -ENOMEM;

	for (size_t i = 0; i < b->count && r == 0; i++)
		r = digest_home(fs, s, b->blocks[i], NULL, buffer, &digest);
	free(buffer);
	if (r < 0)
		return r;
	return digest == b->digest ? 0 : -EAGAIN;
}

int xfs_view_confirm(struct xfs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	uint64_t digest = 0;
	const char *reason;
	struct xfs_now now;
	struct fs_basis *b;
	int r = v->lost ? -EAGAIN : xfs_log_refresh(v->log, v->view.fs, &now, ret_watch, &reason);

	if (r < 0)
		return r;
	if (!xfs_log_confirm(v->log, &v->since, v->reads, v->count))
		return -EAGAIN;
	if (now.idle)
		r = compare_reads(v, &v->since.super, &digest);
	if (r < 0 || !ret)
		return r;
	b = calloc(1, sizeof(*b) + v->count * sizeof(b->blocks[0]));
	if (!b)
		return -ENOMEM;
	b->live = true;
	b->era = now.mark.era;
	atomic_init(&b->id, now.mark.id);
	b->digest = digest;
	b->count = v->count;
	for (uint32_t i = 0; i < v->count; i++)
		b->blocks[i] = v->reads[i]->block;
	*ret = b;
	return 0;
}

int xfs_basis_check(struct xfs_log *log, struct fs *fs, struct fs_basis *b,
		    struct fs_watch *ret_watch)
{
	struct xfs_mark since = {b->era, atomic_load(&b->id)};
	const char *reason;
	struct xfs_now now;
	int r = xfs_log_refresh(log, fs, &now, ret_watch, &reason);

	if (r < 0)
		return r == -EIO ? r : -EAGAIN;
	if (!xfs_log_unchanged(log, &since, b->blocks, b->count))
		return -EAGAIN;
	if (now.idle) {
		r = compare_basis(fs, &now.super, b);
		if (r < 0)
			return r;
	}
	/* Threads may store ids in any order.  After an older id the next check looks at more. */
	atomic_store(&b->id, now.mark.id);
	return 0;
}
