// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns an inode into extents: from a list in the inode, or from a B+tree; see xfs.h.  xfs.c (for
 * files) and xfs_dir.c (for directories) call xfs_map().
 */
#include <errno.h>
#include <sys/stat.h>

#include "parser/fs/xfs.h"
#include "parser/fs/xfs_format.h"

#define EXTENT_BYTES 16U
#define UNWRITTEN (UINT64_C(1) << 63)
#define MAX_LEVEL 16U
/* Larger block numbers in a file are impossible. */
#define MAX_PLACE (UINT64_C(1) << 46)

enum tree_at { AT_LEVEL = 4, AT_COUNT = 6, AT_BLOCK = 24, AT_UUID = 40, AT_OWNER = 56 };

struct walk {
	struct xfs_view *view;
	uint64_t owner;
	struct fs_file *file;
};

static int add_extent(struct walk *w, const uint8_t *at)
{
	const struct xfs_super *s = &w->view->since.super;
	uint64_t high = xfs_get64(at), low = xfs_get64(at + 8);
	uint64_t logical = (high & ~UNWRITTEN) >> 9;
	uint64_t block = (high & 0x1ff) << 43 | low >> 21, count = low & 0x1fffff;
	uint64_t physical;

	if (high & UNWRITTEN)
		return 0;
	if (logical > MAX_PLACE || count == 0 || !xfs_super_block(s, block, &physical))
		return -EIO;
	/* An extent must end inside its allocation group. */
	if (count > s->group_blocks - (block & ((UINT64_C(1) << s->group_bits) - 1)))
		return -EIO;
	return fs_file_add_extent(w->view->view.fs, w->file, logical * s->block_size, physical,
				  count * s->block_size);
}

static int add_extents(struct walk *w, const uint8_t *at, uint64_t count)
{
	int r = 0;

	for (uint64_t i = 0; i < count && r == 0; i++)
		r = add_extent(w, at + i * EXTENT_BYTES);
	return r;
}

static int walk_block(struct walk *w, uint64_t place, unsigned level);

/* at: the numbers of count blocks.  level: the level of these blocks. */
static int walk_children(struct walk *w, const uint8_t *at, uint32_t count, unsigned level)
{
	int r = 0;

	for (uint32_t i = 0; i < count && r == 0; i++)
		r = walk_block(w, xfs_get64(at + 8 * (size_t)i), level);
	return r;
}

/* Checks the header of a tree block.  A block with a log item applied has no current checksum. */
static int check_block(const struct walk *w, const struct meta_block *m, unsigned level)
{
	const struct xfs_super *s = &w->view->since.super;
	const uint8_t *data = m->data;

	if (xfs_get32(data) != XFS_TREE_MAGIC || xfs_get16(data + AT_LEVEL) != level ||
	    memcmp(data + AT_UUID, s->meta_uuid, sizeof(s->meta_uuid)) ||
	    xfs_get64(data + AT_BLOCK) != m->block * (s->block_size / XFS_BASIC_BLOCK))
		return -EIO;
	if (xfs_origin(s, m) == XFS_AT_HOME && !xfs_sum_right(data, s->block_size, XFS_TREE_SUM))
		return -EIO;
	/* When two files exchange extents, a tree block belongs to the other file before its owner
	 * field says so. */
	return xfs_get64(data + AT_OWNER) == w->owner ? 0 : -EAGAIN;
}

static int walk_block(struct walk *w, uint64_t place, unsigned level)
{
	const struct xfs_super *s = &w->view->since.super;
	uint32_t room = (s->block_size - XFS_TREE_HEADER) / EXTENT_BYTES, count;
	const struct meta_block *m;
	uint64_t offset;
	int r;

	if (!xfs_super_block(s, place, &offset))
		return -EIO;
	r = xfs_view_read(w->view, offset / s->block_size, &m);
	if (r == 0)
		r = check_block(w, m, level);
	w->view->lost |= r == -EAGAIN;
	if (r < 0)
		return r;
	count = xfs_get16(m->data + AT_COUNT);
	if (count > room)
		return -EIO;
	if (level == 0)
		return add_extents(w, m->data + XFS_TREE_HEADER, count);
	return walk_children(w, m->data + XFS_TREE_HEADER + 8 * (size_t)room, count, level - 1);
}

static int walk_root(struct walk *w, const uint8_t *fork, uint32_t room)
{
	uint32_t most = (room - 4) / EXTENT_BYTES;
	unsigned level = xfs_get16(fork), count = xfs_get16(fork + 2);

	if (level == 0 || level > MAX_LEVEL || count == 0 || count > most)
		return -EIO;
	return walk_children(w, fork + 4 + 8 * (size_t)most, count, level - 1);
}

static uint64_t extents_of(const uint8_t *inode)
{
	return xfs_get64(inode + XFS_INODE_FLAGS2) & XFS_INODE_BIG_COUNTS
		       ? xfs_get64(inode + XFS_INODE_BIG_EXTENTS)
		       : xfs_get32(inode + XFS_INODE_EXTENTS);
}

int xfs_map(struct xfs_view *v, uint64_t number, const uint8_t *inode, struct fs_file *ret)
{
	struct walk w = {v, number, ret};
	uint32_t room = v->since.super.inode_size - XFS_INODE_CORE_BYTES;
	uint32_t attributes = inode[XFS_INODE_FORK_OFFSET] * 8U;
	const uint8_t *fork = inode + XFS_INODE_CORE_BYTES;

	if (attributes && attributes < room)
		room = attributes;
	ret->inode = number;
	ret->generation = xfs_get32(inode + XFS_INODE_GENERATION);
	ret->size = xfs_get64(inode + XFS_INODE_SIZE);
	if (ret->size > INT64_MAX)
		return -EIO;
	switch (inode[XFS_INODE_FORMAT]) {
	case XFS_FORK_EXTENTS:
		if (extents_of(inode) > room / EXTENT_BYTES)
			return -EIO;
		return add_extents(&w, fork, extents_of(inode));
	case XFS_FORK_BTREE:
		return room < 4 + EXTENT_BYTES ? -EIO : walk_root(&w, fork, room);
	default:
		return -EIO;
	}
}
