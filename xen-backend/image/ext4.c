// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ext2/3/4 reader's entry points; see ext4.h and fs_impl.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/ext4.h"

/* Beside the group descriptors: directories of a hundred thousand entries, the extent
 * tree of a shredded file.  A view that wants more is being led in circles. */
#define VIEW_BUDGET (16U << 20)
#define MAX_DIRECTORY_ENTRIES (1U << 20)

int ext4_errno(errcode_t error)
{
	switch (error) {
	case 0:
		return 0;
	case EXT2_ET_FILE_NOT_FOUND:
		return -ENOENT;
	case EXT2_ET_NO_DIRECTORY:
		return -ENOTDIR;
	case EXT2_ET_NO_MEMORY:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

static const char *open_reason(errcode_t error)
{
	switch (error) {
	case EXT2_ET_SB_CSUM_INVALID:
		return "its superblock's checksum is wrong";
	case EXT2_ET_UNSUPP_FEATURE:
	case EXT2_ET_RO_UNSUPP_FEATURE:
		return "it has ext4 features this version of libext2fs does not know";
	case EXT2_ET_SHORT_READ:
		return "its metadata could not be read: the image is truncated or damaged";
	default:
		return "its superblock or group descriptors are damaged";
	}
}

static int view_fail(struct ext4_view *v, int error, const char *reason, const char **ret_reason)
{
	*ret_reason = reason;
	free(v);
	return error;
}

static int view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason)
{
	struct ext4_view *v = calloc(1, sizeof(*v));
	const char *reason;
	errcode_t error;

	if (!v)
		return view_fail(v, -ENOMEM, "out of memory", ret_reason);
	v->view.fs = fs;
	if (fs->length < EXT4_SUPER_OFFSET + FS_SUPER_BYTES ||
	    image_source_read(fs->source, fs->offset + EXT4_SUPER_OFFSET, v->raw_super,
			      sizeof(v->raw_super)) < 0)
		return view_fail(v, -EIO, "its superblock cannot be read", ret_reason);
	if (!ext4_super_parse(v->raw_super, fs->length, &v->super, &reason))
		return view_fail(v, -EIO, reason, ret_reason);
	if (memcmp(v->super.uuid, fs->uuid, sizeof(fs->uuid)))
		return view_fail(v, -EIO, "another file system is in its place", ret_reason);
	v->budget = (uint64_t)v->super.descriptor_bytes + VIEW_BUDGET;
	error = ext4_io_open(v);
	if (error)
		return view_fail(v, ext4_errno(error), open_reason(error), ret_reason);
	*ret = &v->view;
	return 0;
}

static struct ext4_view *of(struct fs_view *v)
{
	return (struct ext4_view *)v;
}

static void view_close(struct fs_view *v)
{
	ext2fs_free(of(v)->filsys);
	free(of(v));
}

static uint64_t root(struct fs_view *v)
{
	(void)v;
	return EXT2_ROOT_INO;
}

/* libext2fs trusts an inode number less well than this. */
static bool inode_valid(struct fs_view *v, uint64_t inode)
{
	return inode >= EXT2_ROOT_INO && inode <= of(v)->filsys->super->s_inodes_count;
}

static int lookup(struct fs_view *v, uint64_t dir, const char *name, size_t length,
		  uint64_t *ret_inode)
{
	ext2_ino_t inode;
	int r;

	if (!inode_valid(v, dir))
		return -EIO;
	r = ext4_errno(
		ext2fs_lookup(of(v)->filsys, (ext2_ino_t)dir, name, (int)length, NULL, &inode));
	if (r < 0)
		return r;
	if (!inode_valid(v, inode))
		return -EIO;
	*ret_inode = inode;
	return 0;
}

struct listing {
	struct fs_view *view;
	fs_list_cb *cb;
	void *ctx;
	unsigned entries;
	int result;
};

static int list_entry(ext2_ino_t dir, int kind, struct ext2_dir_entry *entry, int offset,
		      int block_size, char *buf, void *priv)
{
	struct listing *l = priv;
	char name[FS_MAX_NAME + 1];
	size_t length = (size_t)ext2fs_dirent_name_len(entry);

	(void)dir, (void)offset, (void)block_size, (void)buf;
	if (kind != DIRENT_OTHER_FILE || length > FS_MAX_NAME ||
	    !inode_valid(l->view, entry->inode))
		return 0;
	memcpy(name, entry->name, length);
	name[length] = '\0';
	if (strlen(name) != length || !strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	l->result = ++l->entries > MAX_DIRECTORY_ENTRIES ? -EIO : l->cb(l->ctx, name, entry->inode);
	return l->result ? DIRENT_ABORT : 0;
}

static int list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx)
{
	struct listing l = {v, cb, ctx, 0, 0};
	errcode_t error;

	if (!inode_valid(v, dir))
		return -EIO;
	error = ext2fs_check_directory(of(v)->filsys, (ext2_ino_t)dir);
	if (!error)
		error = ext2fs_dir_iterate2(of(v)->filsys, (ext2_ino_t)dir, 0, NULL, list_entry,
					    &l);
	return error ? ext4_errno(error) : l.result;
}

static int map(struct fs_view *v, uint64_t inode, struct fs_file *ret)
{
	if (!inode_valid(v, inode))
		return -EIO;
	return ext4_map(of(v), (ext2_ino_t)inode, ret);
}

static int stamp(struct fs *fs, uint8_t raw[FS_SUPER_BYTES])
{
	struct ext4_super super;
	const char *reason;
	int r = image_source_read(fs->source, fs->offset + EXT4_SUPER_OFFSET, raw, FS_SUPER_BYTES);

	if (r < 0)
		return r;
	if (!ext4_super_parse(raw, fs->length, &super, &reason) ||
	    memcmp(super.uuid, fs->uuid, sizeof(fs->uuid)))
		return -EIO;
	return super.quiescent ? 0 : -EBUSY;
}

const struct fs_ops ext4_ops = {
	.view_open = view_open,
	.view_close = view_close,
	.root = root,
	.lookup = lookup,
	.list = list,
	.map = map,
	.stamp = stamp,
};
