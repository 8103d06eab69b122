// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The entry points of the ext2/3/4 reader: implements struct fs_ops (fs_impl.h) with the functions
 * of ext4.h.  fs.c calls them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"

/* Bytes of metadata that one view may read, in addition to group descriptors.  The budget is enough
 * for directories with a hundred thousand entries and for the extent tree of a badly fragmented
 * file.  A view that needs more is following a loop in the metadata. */
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
		return "it has ext4 features that this version of libext2fs does not support";
	case EXT2_ET_SHORT_READ:
		return "its metadata could not be read: the image is truncated or damaged";
	default:
		return "its superblock or group descriptors are damaged";
	}
}

int ext4_read_super(struct fs *fs, uint8_t raw[FS_SUPER_BYTES], struct ext4_super *ret,
		    const char **ret_reason)
{
	*ret_reason = "its superblock cannot be read";
	if (fs->length < EXT4_SUPER_OFFSET + FS_SUPER_BYTES ||
	    volume_read(fs->volume, EXT4_SUPER_OFFSET, raw, FS_SUPER_BYTES) < 0)
		return -EIO;
	if (!ext4_super_parse(raw, fs->length, ret, ret_reason))
		return -EIO;
	*ret_reason = "another file system is in its place";
	return memcmp(ret->uuid, fs->uuid, sizeof(fs->uuid)) ? -EIO : 0;
}

static struct ext4_view *view_new(struct fs *fs)
{
	struct ext4_view *v = calloc(1, sizeof(*v));

	if (v)
		v->view.fs = fs;
	return v;
}

void ext4_view_free(struct ext4_view *v)
{
	ext4_groups_return(v);
	if (v->filsys)
		ext2fs_free(v->filsys);
	ext4_reads_free(v->reads);
	free(v);
}

/* shared: use the group descriptors of an earlier view, or keep those read here for later views. */
static errcode_t open_with_groups(struct ext4_view *v, bool shared)
{
	struct ext4_group_store *store = &v->view.fs->reader->groups;
	errcode_t error;

	if (shared && ext4_groups_find(store, v)) {
		error = ext4_io_open(v, true);
		if (error || ext4_groups_lend(v))
			return error;
		ext4_groups_return(v);
		ext2fs_free(v->filsys);
		v->filsys = NULL;
	}
	error = ext4_io_open(v, false);
	if (!error && shared)
		ext4_groups_keep(store, v);
	return error;
}

static int open_filsys(struct ext4_view *v, bool shared, const char **ret_reason)
{
	errcode_t error;

	v->budget = (uint64_t)v->super.descriptor_bytes + VIEW_BUDGET;
	error = open_with_groups(v, shared);
	*ret_reason = open_reason(error);
	/* The owner may be writing the superblock to its place at this moment. */
	if (error == EXT2_ET_SB_CSUM_INVALID && v->super.state == FS_LIVE)
		return -EAGAIN;
	return ext4_errno(error);
}

int ext4_home_view(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES], const struct ext4_super *super,
		   struct ext4_view **ret, const char **ret_reason)
{
	struct ext4_view *v = view_new(fs);
	int r;

	*ret_reason = "out of memory";
	if (!v)
		return -ENOMEM;
	memcpy(v->raw_super, raw, FS_SUPER_BYTES);
	v->super = *super;
	r = open_filsys(v, false, ret_reason);
	if (r < 0)
		ext4_view_free(v);
	else
		*ret = v;
	return r;
}

/* Opens v->filsys in the way that the state of the file system needs. */
static int begin(struct ext4_view *v, const char **ret_reason)
{
	int r;

	switch (v->super.state) {
	case FS_CLEAN:
		ext4_live_end(v->view.fs);
		memcpy(v->stamp.super, v->raw_super, sizeof(v->raw_super));
		return open_filsys(v, true, ret_reason);
	case FS_LIVE:
		r = ext4_live_begin(v, ret_reason);
		if (r == 0)
			r = open_filsys(v, true, ret_reason);
		if (r == 0)
			ext4_live_record(v);
		return r;
	default:
		*ret_reason = v->super.refusal;
		return -EBUSY;
	}
}

static int view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason)
{
	struct ext4_view *v = view_new(fs);
	int r;

	*ret_reason = "out of memory";
	if (!v)
		return -ENOMEM;
	r = fs_stamp_begin(fs, &v->stamp);
	*ret_reason = "the image cannot be read";
	if (r == 0)
		r = ext4_read_super(fs, v->raw_super, &v->super, ret_reason);
	if (r == 0)
		r = begin(v, ret_reason);
	if (r < 0)
		ext4_view_free(v);
	else
		*ret = &v->view;
	return r;
}

static struct ext4_view *of(struct fs_view *v)
{
	return (struct ext4_view *)v;
}

static void view_close(struct fs_view *v)
{
	ext4_view_free(of(v));
}

static uint64_t root(struct fs_view *v)
{
	(void)v;
	return EXT2_ROOT_INO;
}

/* True if inode is a number that libext2fs can be called with.  libext2fs checks less than this. */
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
	r = ext4_index_lookup(of(v), (ext2_ino_t)dir, name, length, &inode);
	if (r < 0 && r != -ENOENT)
		r = ext4_errno(ext2fs_lookup(of(v)->filsys, (ext2_ino_t)dir, name, (int)length,
					     NULL, &inode));
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

static int read_link(struct fs_view *v, uint64_t inode, char buf[FS_MAX_LINK])
{
	return inode_valid(v, inode) ? ext4_readlink(of(v), (ext2_ino_t)inode, buf) : -EIO;
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

/* Takes the stamp of a clean file system as of now.  -EAGAIN: the file system is not clean. */
static int take_stamp(struct fs *fs, struct fs_stamp *ret)
{
	struct ext4_super super;
	const char *reason;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = fs_stamp_begin(fs, ret);
	if (r == 0)
		r = ext4_read_super(fs, ret->super, &super, &reason);
	if (r < 0)
		return r;
	return super.state == FS_CLEAN ? 0 : -EAGAIN;
}

static int check_stamp(struct fs *fs, const struct fs_stamp *stamp)
{
	struct fs_stamp now;
	int r = take_stamp(fs, &now);

	if (r < 0)
		return r;
	return fs_stamp_equal(stamp, &now) ? 0 : -EAGAIN;
}

/* Adds what check_stamp() reads of a clean file system.  watch may be NULL. */
static void watch_stamp(const struct fs_stamp *stamp, struct fs_watch *watch)
{
	if (watch)
		fs_watch_add(watch, EXT4_SUPER_OFFSET, stamp->super, sizeof(stamp->super));
}

static int view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	struct fs_basis *b;
	int r;

	if (v->live)
		return ext4_live_confirm(of(v), ret, ret_watch);
	r = check_stamp(v->fs, &of(v)->stamp);
	if (r < 0)
		return r;
	watch_stamp(&of(v)->stamp, ret_watch);
	if (!ret)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->stamp = of(v)->stamp;
	*ret = b;
	return 0;
}

static int check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch)
{
	int r;

	if (b->live)
		return ext4_live_check(fs, b, ret_watch);
	r = check_stamp(fs, &b->stamp);
	if (r == 0)
		watch_stamp(&b->stamp, ret_watch);
	return r;
}

/* For a live file system, opens a view to find out whether the journal can be followed. */
static enum fs_state state(struct fs *fs, const char **ret_reason)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	struct fs_view *v;
	int r;

	if (ext4_read_super(fs, raw, &super, ret_reason) < 0)
		return FS_UNREADABLE;
	*ret_reason = super.refusal;
	if (super.state != FS_LIVE)
		return super.state;
	r = view_open(fs, &v, ret_reason);
	if (r == 0)
		view_close(v);
	switch (r) {
	case 0:
	case -EAGAIN:
		return FS_LIVE;
	case -EBUSY:
		return FS_REFUSED;
	default:
		return FS_UNREADABLE;
	}
}

static int init(struct fs *fs)
{
	struct fs_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->live = ext4_live_new();
	if (!r->live) {
		free(r);
		return -ENOMEM;
	}
	ext4_groups_init(&r->groups);
	fs->reader = r;
	return 0;
}

static void release(struct fs *fs)
{
	ext4_live_release(fs->reader->live);
	ext4_groups_release(&fs->reader->groups);
	free(fs->reader);
}

static uint64_t bytes(struct volume *volume)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	const char *reason;

	if (volume_read(volume, EXT4_SUPER_OFFSET, raw, sizeof(raw)) < 0 ||
	    !ext4_super_parse(raw, UINT64_MAX, &super, &reason) ||
	    super.blocks > UINT64_MAX / super.block_size)
		return 0;
	return super.blocks * super.block_size;
}

const struct fs_ops ext4_ops = {
	.bytes = bytes,
	.init = init,
	.release = release,
	.state = state,
	.view_open = view_open,
	.view_close = view_close,
	.view_confirm = view_confirm,
	.root = root,
	.lookup = lookup,
	.readlink = read_link,
	.list = list,
	.map = map,
	.check = check,
	.settled = ext4_live_settled,
};
