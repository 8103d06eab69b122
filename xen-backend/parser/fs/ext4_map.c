// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns an inode into the ranges of the volume where the file's bytes lie; see fs_view_map().
 * ext4.c and ext4_live.c (for the journal's inode) call ext4_map().  Encrypted, compressed and
 * verity files, and inodes that hold attribute values, are refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"

/* Enough steps for a tree of FS_MAX_EXTENTS leaves, where each index node is visited twice. */
#define MAX_TREE_STEPS (4U * FS_MAX_EXTENTS)

#define UNREADABLE_FLAGS (EXT4_ENCRYPT_FL | EXT2_COMPRBLK_FL | EXT4_VERITY_FL | EXT4_EA_INODE_FL)

static int readable(const struct ext2_inode *inode)
{
	if (inode->i_links_count == 0 || inode->i_dtime != 0)
		return -EIO; /* the directory entry names a deleted file */
	if (!LINUX_S_ISREG(inode->i_mode))
		return -ENOENT;
	return inode->i_flags & UNREADABLE_FLAGS ? -ENODATA : 0;
}

static int add_blocks(struct ext4_view *v, struct fs_file *f, uint64_t logical, uint64_t physical,
		      uint64_t blocks)
{
	uint64_t size = v->super.block_size;

	if (physical == 0 || physical > v->super.blocks || blocks > v->super.blocks - physical)
		return -EIO;
	return fs_file_add_extent(v->view.fs, f, logical * size, physical * size, blocks * size);
}

static bool is_written_leaf(const struct ext2fs_extent *e)
{
	return (e->e_flags & EXT2_EXTENT_FLAGS_LEAF) &&
	       !(e->e_flags & (EXT2_EXTENT_FLAGS_SECOND_VISIT | EXT2_EXTENT_FLAGS_UNINIT));
}

static int walk_extents(struct ext4_view *v, ext2_extent_handle_t handle, struct fs_file *f)
{
	int op = EXT2_EXTENT_ROOT;

	for (unsigned step = 0; step < MAX_TREE_STEPS; step++) {
		struct ext2fs_extent e;
		errcode_t error = ext2fs_extent_get(handle, op, &e);
		int r;

		if (error == EXT2_ET_EXTENT_NO_NEXT || error == EXT2_ET_NO_CURRENT_NODE)
			return 0;
		if (error)
			return ext4_errno(error);
		op = EXT2_EXTENT_NEXT;
		if (!is_written_leaf(&e))
			continue;
		r = add_blocks(v, f, e.e_lblk, e.e_pblk, e.e_len);
		if (r < 0)
			return r;
	}
	return -EIO;
}

static int map_extents(struct ext4_view *v, ext2_ino_t number, struct ext2_inode *inode,
		       struct fs_file *f)
{
	ext2_extent_handle_t handle;
	errcode_t error = ext2fs_extent_open2(v->filsys, number, inode, &handle);
	int r;

	if (error)
		return ext4_errno(error);
	r = walk_extents(v, handle, f);
	ext2fs_extent_free(handle);
	return r;
}

struct block_walk {
	struct ext4_view *view;
	struct fs_file *file;
	int result;
};

static int map_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t logical, blk64_t ref_block,
		     int ref_offset, void *priv)
{
	struct block_walk *w = priv;

	(void)fs, (void)ref_block, (void)ref_offset;
	if ((uint64_t)logical >= w->file->size / w->view->super.block_size + 1)
		return BLOCK_ABORT;
	w->result = add_blocks(w->view, w->file, (uint64_t)logical, *block, 1);
	return w->result < 0 ? BLOCK_ABORT : 0;
}

/* ext2 and ext3: direct blocks and up to three levels of indirect blocks. */
static int map_blocks(struct ext4_view *v, ext2_ino_t number, struct fs_file *f)
{
	struct block_walk w = {v, f, 0};
	errcode_t error = ext2fs_block_iterate3(v->filsys, number,
						BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY, NULL,
						map_block, &w);

	return error ? ext4_errno(error) : w.result;
}

/* Inline data is part of the inode, and therefore of the same committed state. */
static int copy_inline(const uint8_t *raw, size_t size, struct fs_file *f)
{
	struct ext4_inline data;

	if (!ext4_inline_find(raw, size, &data) || f->size > data.head_length + data.tail_length)
		return -EIO;
	f->content = malloc(data.head_length + data.tail_length);
	if (!f->content)
		return -ENOMEM;
	memcpy(f->content, data.head, data.head_length);
	memcpy(f->content + data.head_length, data.tail, data.tail_length);
	return 0;
}

static int map_inline(struct ext4_view *v, ext2_ino_t number, struct fs_file *f)
{
	size_t size = v->super.inode_size;
	uint8_t *raw = malloc(size);
	int r;

	if (!raw)
		return -ENOMEM;
	r = ext4_errno(
		ext2fs_read_inode_full(v->filsys, number, (struct ext2_inode *)raw, (int)size));
	if (r == 0)
		r = copy_inline(raw, size, f);
	free(raw);
	return r;
}

int ext4_map_inode(struct ext4_view *v, ext2_ino_t number, struct ext2_inode *inode,
		   struct fs_file *ret)
{
	if (inode->i_flags & EXT4_INLINE_DATA_FL)
		return map_inline(v, number, ret);
	return inode->i_flags & EXT4_EXTENTS_FL ? map_extents(v, number, inode, ret)
						: map_blocks(v, number, ret);
}

int ext4_map(struct ext4_view *v, ext2_ino_t number, struct fs_file *ret)
{
	struct ext2_inode inode;
	int r = ext4_errno(ext2fs_read_inode(v->filsys, number, &inode));

	if (r == 0)
		r = readable(&inode);
	if (r < 0)
		return r;
	ret->inode = number;
	ret->generation = inode.i_generation;
	ret->size = EXT2_I_SIZE(&inode);
	if (ret->size > INT64_MAX)
		return -EIO;
	return ext4_map_inode(v, number, &inode, ret);
}
