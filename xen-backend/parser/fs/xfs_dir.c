// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the names in a directory, which are in the inode itself or in blocks; see xfs.h.  xfs.c
 * calls xfs_dir_names().  Large directories also have indexes by hash, behind the names; this code
 * reads all names instead of an index.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "parser/fs/xfs.h"
#include "parser/fs/xfs_format.h"

#define SHORT_HEADER 6U
#define SHORT_HEADER_WIDE 10U
#define UNUSED_TAG 0xffffU
#define UNUSED_LEAST 8U
#define NAME_LEAST 16U
#define MAX_NAMES (1U << 20)

enum block_at { AT_PLACE = 8, AT_UUID = 24, AT_OWNER = 40 };

struct search {
	struct xfs_view *view;
	uint64_t owner;
	unsigned names;
	xfs_name_cb *cb;
	void *ctx;
};

static int found_name(struct search *d, const uint8_t *name, unsigned length, uint64_t inode)
{
	if ((length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.'))
		return 0;
	if (++d->names > MAX_NAMES)
		return -EIO;
	return d->cb(d->ctx, name, length, inode);
}

/* ---- in the inode ---- */

static int names_in_inode(struct search *d, const uint8_t *inode, uint32_t room)
{
	const uint8_t *at = inode + XFS_INODE_CORE_BYTES;
	uint64_t size = xfs_get64(inode + XFS_INODE_SIZE);
	unsigned count, number_bytes;
	const uint8_t *end;

	if (size < SHORT_HEADER || size > room)
		return -EIO;
	end = at + size;
	number_bytes = at[1] ? 8 : 4; /* at[1]: an inode number needs more than 32 bits */
	count = at[1] ? at[1] : at[0];
	at += at[1] ? SHORT_HEADER_WIDE : SHORT_HEADER;
	for (unsigned i = 0; i < count; i++) {
		unsigned length;
		const uint8_t *number;
		int r;

		if (end - at < 4)
			return -EIO;
		length = at[0];
		number = at + 3 + length + 1; /* length, place, name, type */
		if (length == 0 || number > end || (size_t)(end - number) < number_bytes)
			return -EIO;
		r = found_name(d, at + 3, length,
			       number_bytes == 8 ? xfs_get64(number) : xfs_get32(number));
		if (r)
			return r;
		at = number + number_bytes;
	}
	return 0;
}

/* ---- in blocks ---- */

/* The offset where names end in a block with an index.  0: the index is longer than the block. */
static uint32_t names_end(const uint8_t *block, uint32_t size)
{
	uint32_t count = xfs_get32(block + size - 8);

	return count > (size - 8 - XFS_DIR_HEADER) / 8 ? 0 : size - 8 - 8 * count;
}

static int names_in_block(struct search *d, const uint8_t *block, uint32_t end)
{
	uint32_t at = XFS_DIR_HEADER;

	while (at < end) {
		uint32_t length, whole;
		int r;

		if (end - at < UNUSED_LEAST)
			return -EIO;
		if (xfs_get16(block + at) == UNUSED_TAG) {
			whole = xfs_get16(block + at + 2);
			if (whole < UNUSED_LEAST || whole % UNUSED_LEAST || whole > end - at)
				return -EIO;
			at += whole;
			continue;
		}
		if (end - at < NAME_LEAST)
			return -EIO;
		length = block[at + 8];
		whole = (8 + 1 + length + 1 + 2 + 7) / 8 *
			8; /* number, length, name, type, place */
		if (length == 0 || whole > end - at)
			return -EIO;
		r = found_name(d, block + at + 9, length, xfs_get64(block + at));
		if (r)
			return r;
		at += whole;
	}
	return 0;
}

/* Checks the header of a directory block.  at_home: no log item was applied to the block, so its
 * checksum must be right too. */
static int check_block(const struct search *d, const uint8_t *block, uint64_t physical,
		       bool at_home)
{
	const struct xfs_super *s = &d->view->since.super;
	uint32_t magic = xfs_get32(block);

	if ((magic != XFS_DIR_BLOCK_MAGIC && magic != XFS_DIR_DATA_MAGIC) ||
	    xfs_get64(block + AT_PLACE) != physical / XFS_BASIC_BLOCK ||
	    memcmp(block + AT_UUID, s->meta_uuid, sizeof(s->meta_uuid)) ||
	    xfs_get64(block + AT_OWNER) != d->owner)
		return -EIO;
	return at_home && !xfs_sum_right(block, s->dir_block_size, XFS_DIR_SUM) ? -EIO : 0;
}

/* The extent of f that holds the byte at offset, or NULL.  The search begins at extent *index and
 * moves *index on. */
static const struct fs_extent *extent_at(const struct fs_file *f, uint64_t offset, unsigned *index)
{
	while (*index < f->num_extents &&
	       f->extents[*index].logical + f->extents[*index].length <= offset)
		++*index;
	if (*index == f->num_extents || f->extents[*index].logical > offset)
		return NULL;
	return &f->extents[*index];
}

/* Assembles the directory block at offset from the file-system blocks that it consists of.  Sets
 * *ret_at_home to true if none of these blocks was changed by a log item. */
static int gather(struct search *d, const struct fs_file *f, uint64_t offset, unsigned *index,
		  uint8_t *block, uint64_t *ret_physical, bool *ret_at_home)
{
	const struct xfs_super *s = &d->view->since.super;

	*ret_at_home = true;
	for (uint32_t n = 0; n < s->dir_block_size; n += s->block_size) {
		const struct fs_extent *e = extent_at(f, offset + n, index);
		const struct meta_block *m;
		uint64_t physical;
		int r;

		if (!e)
			return -EIO;
		physical = e->physical + (offset + n - e->logical);
		r = xfs_view_read(d->view, physical / s->block_size, &m);
		if (r < 0)
			return r;
		memcpy(block + n, m->data, s->block_size);
		*ret_at_home &= xfs_origin(s, m) == XFS_AT_HOME;
		if (n == 0)
			*ret_physical = physical;
	}
	return 0;
}

static int names_at(struct search *d, const struct fs_file *f, uint64_t offset, unsigned *index,
		    uint8_t *block)
{
	uint32_t size = d->view->since.super.dir_block_size;
	uint64_t physical = 0;
	bool at_home;
	int r = gather(d, f, offset, index, block, &physical, &at_home);

	if (r == 0)
		r = check_block(d, block, physical, at_home);
	if (r < 0)
		return r;
	if (xfs_get32(block) == XFS_DIR_BLOCK_MAGIC) {
		size = names_end(block, size);
		if (size < XFS_DIR_HEADER)
			return -EIO;
	}
	return names_in_block(d, block, size);
}

static int names_in_blocks(struct search *d, const struct fs_file *f)
{
	uint32_t size = d->view->since.super.dir_block_size;
	uint8_t *block = malloc(size);
	unsigned index = 0;
	uint64_t offset = 0;
	int r = block ? 0 : -ENOMEM;

	while (r == 0 && index < f->num_extents) {
		const struct fs_extent *e = &f->extents[index];

		/* A directory has holes where blocks became empty. */
		if (e->logical + e->length <= offset) {
			index++;
			continue;
		}
		if (e->logical > offset)
			offset = e->logical / size * size;
		if (offset >= XFS_DIR_DATA_END)
			break;
		r = names_at(d, f, offset, &index, block);
		offset += size;
	}
	free(block);
	return r;
}

int xfs_dir_names(struct xfs_view *v, uint64_t number, xfs_name_cb *cb, void *ctx)
{
	struct search d = {v, number, 0, cb, ctx};
	struct fs_file f = {0};
	const uint8_t *inode;
	int r = xfs_view_inode(v, number, &inode);

	if (r < 0)
		return r;
	if (!S_ISDIR(xfs_get16(inode + XFS_INODE_MODE)))
		return xfs_get16(inode + XFS_INODE_MODE) ? -ENOTDIR : -EIO;
	if (inode[XFS_INODE_FORMAT] == XFS_FORK_LOCAL)
		return names_in_inode(&d, inode, v->since.super.inode_size - XFS_INODE_CORE_BYTES);
	r = xfs_map(v, number, inode, &f);
	if (r == 0)
		r = names_in_blocks(&d, &f);
	fs_file_clear(&f);
	return r;
}
