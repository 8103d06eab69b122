// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the target of a symbolic link: from the inode, or from the one block that the inode maps.
 * The kernel writes that block through the journal, so it is read as metadata.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"

static int check(const struct ext2_inode *inode)
{
	if (inode->i_links_count == 0 || inode->i_dtime != 0)
		return -EIO; /* the directory entry names a deleted link */
	if (!LINUX_S_ISLNK(inode->i_mode))
		return -EINVAL;
	if (inode->i_flags & EXT4_ENCRYPT_FL)
		return -ENODATA;
	return EXT2_I_SIZE(inode) == 0 || EXT2_I_SIZE(inode) >= FS_MAX_LINK ? -EIO : 0;
}

static int read_block(struct ext4_view *v, const struct fs_file *f, char *buf)
{
	const struct fs_extent *e = f->extents;

	if (f->num_extents == 0 || e->logical != 0 || e->length < f->size)
		return -EIO;
	return ext4_io_read(v, e->physical, buf, (size_t)f->size);
}

int ext4_readlink(struct ext4_view *v, ext2_ino_t number, char buf[FS_MAX_LINK])
{
	struct ext2_inode inode;
	struct fs_file f = {0};
	int r = ext4_errno(ext2fs_read_inode(v->filsys, number, &inode));

	if (r == 0)
		r = check(&inode);
	if (r < 0)
		return r;
	f.size = EXT2_I_SIZE(&inode);
	buf[f.size] = '\0';
	if (ext2fs_is_fast_symlink(&inode) && f.size < sizeof(inode.i_block)) {
		memcpy(buf, inode.i_block, (size_t)f.size);
		return 0;
	}
	r = ext4_map_inode(v, number, &inode, &f);
	if (r == 0 && f.content)
		memcpy(buf, f.content, (size_t)f.size);
	else if (r == 0)
		r = read_block(v, &f, buf);
	fs_file_clear(&f);
	return r;
}
