// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the target of a symbolic link: from the inode, or from extents of blocks. Each extent
 * begins with one header.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parser/fs/xfs.h"
#include "parser/fs/xfs_format.h"

#define HEADER_BYTES 56U
#define MAX_EXTENT 65536U /* the largest block; targets are short */
#define MAGIC 0x58534c4dU /* "XSLM" */

enum block_at { AT_OFFSET = 4, AT_BYTES = 8, AT_SUM = 12, AT_UUID = 16, AT_OWNER = 32 };

struct target {
	struct xfs_view *view;
	uint64_t owner;
	char *to;
	uint32_t have, size;
};

/* Copies an extent, of `length` bytes, to `to`. `*ret_at_home`: no log item changed the blocks. */
static int gather(struct target *t, uint64_t physical, uint32_t length, uint8_t *to,
		  bool *ret_at_home)
{
	const struct xfs_super *s = &t->view->since.super;

	*ret_at_home = true;
	for (uint32_t at = 0; at < length; at += s->block_size) {
		const struct meta_block *m;
		int r = xfs_view_read(t->view, (physical + at) / s->block_size, &m);

		if (r < 0)
			return r;
		memcpy(to + at, m->data, s->block_size);
		*ret_at_home &= xfs_origin(s, m) == XFS_AT_HOME;
	}
	return 0;
}

/* Takes the part of the target that an extent has. */
static int take_part(struct target *t, const uint8_t *extent, uint32_t length, bool at_home)
{
	const struct xfs_super *s = &t->view->since.super;
	uint32_t bytes = xfs_get32(extent + AT_BYTES);

	if (xfs_get32(extent) != MAGIC || xfs_get32(extent + AT_OFFSET) != t->have || bytes == 0 ||
	    bytes > length - HEADER_BYTES || bytes > t->size - t->have ||
	    memcmp(extent + AT_UUID, s->meta_uuid, sizeof(s->meta_uuid)) ||
	    xfs_get64(extent + AT_OWNER) != t->owner)
		return -EIO;
	if (at_home && !xfs_sum_right(extent, length, AT_SUM))
		return -EIO;
	memcpy(t->to + t->have, extent + HEADER_BYTES, bytes);
	t->have += bytes;
	return 0;
}

static int take_extent(struct target *t, const struct fs_extent *e)
{
	uint8_t *extent;
	bool at_home;
	int r;

	if (e->length > MAX_EXTENT)
		return -EIO;
	extent = malloc(e->length);
	r = extent ? gather(t, e->physical, (uint32_t)e->length, extent, &at_home) : -ENOMEM;
	if (r == 0)
		r = take_part(t, extent, (uint32_t)e->length, at_home);
	free(extent);
	return r;
}

static int take_extents(struct target *t, const struct fs_file *f)
{
	int r = 0;

	for (unsigned i = 0; i < f->num_extents && t->have < t->size && r == 0; i++)
		r = take_extent(t, &f->extents[i]);
	return r == 0 && t->have < t->size ? -EIO : r;
}

static int read_blocks(struct target *t, const uint8_t *inode)
{
	struct fs_file f = {0};
	int r = xfs_map(t->view, t->owner, inode, &f);

	if (r == 0)
		r = take_extents(t, &f);
	fs_file_clear(&f);
	return r;
}

int xfs_readlink(struct xfs_view *v, uint64_t number, char buf[FS_MAX_LINK])
{
	uint32_t room = v->since.super.inode_size - XFS_INODE_CORE_BYTES;
	const uint8_t *inode;
	uint64_t size;
	int r = xfs_view_inode(v, number, &inode);

	if (r < 0)
		return r;
	if (xfs_get16(inode + XFS_INODE_MODE) == 0 || xfs_get32(inode + XFS_INODE_LINKS) == 0)
		return -EIO; /* the directory entry names a deleted link */
	if (!S_ISLNK(xfs_get16(inode + XFS_INODE_MODE)))
		return -EINVAL;
	size = xfs_get64(inode + XFS_INODE_SIZE);
	if (size == 0 || size >= FS_MAX_LINK)
		return -EIO;
	buf[size] = '\0';
	if (inode[XFS_INODE_FORMAT] != XFS_FORK_LOCAL)
		return read_blocks(&(struct target){v, number, buf, 0, (uint32_t)size}, inode);
	if (size > room)
		return -EIO;
	memcpy(buf, inode + XFS_INODE_CORE_BYTES, (size_t)size);
	return 0;
}
