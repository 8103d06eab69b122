// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dispatches the functions of fs.h to the ext4 or XFS reader, and holds what the readers share:
 * paths, extent lists and reads by extent.  Callers are parser/serve.c, parser/hdfs/ and
 * provision/inspect.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "parser/fs/ext4.h"
#include "parser/fs/fs.h"
#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs.h"

#define MAX_PATH_NAMES 64

static const struct {
	const char *type;
	const struct fs_ops *ops;
} readers[] = {{"ext2", &ext4_ops}, {"ext3", &ext4_ops}, {"ext4", &ext4_ops}, {"xfs", &xfs_ops}};

static const struct fs_ops *find_reader(const char *type)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (!strcmp(readers[i].type, type))
			return readers[i].ops;
	return NULL;
}

int fs_new(struct volume *volume, const char *type, const char *uuid, struct fs **ret)
{
	const struct fs_ops *ops = find_reader(type);
	struct fs *fs;
	int r;

	if (!ops)
		return -EOPNOTSUPP;
	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	if (uuid_parse(uuid, fs->uuid) < 0) {
		free(fs);
		return -EINVAL;
	}
	fs->ops = ops;
	fs->volume = volume;
	fs->length = volume_size(volume);
	r = fs->ops->init(fs);
	if (r < 0) {
		free(fs);
		return r;
	}
	*ret = fs;
	return 0;
}

uint64_t fs_bytes(struct volume *volume, const char *type)
{
	const struct fs_ops *ops = find_reader(type);

	return ops ? ops->bytes(volume) : 0;
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	fs->ops->release(fs);
	free(fs);
}

struct volume *fs_volume(struct fs *fs)
{
	return fs->volume;
}

enum fs_state fs_state(struct fs *fs, const char **ret_reason)
{
	const char *reason;

	return fs->ops->state(fs, ret_reason ? ret_reason : &reason);
}

int fs_view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason)
{
	const char *reason;
	int r = -EAGAIN;

	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++)
		r = fs->ops->view_open(fs, ret, &reason);
	if (r < 0 && ret_reason)
		*ret_reason = reason;
	return r;
}

void fs_view_close(struct fs_view *v)
{
	if (v)
		v->fs->ops->view_close(v);
}

int fs_view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	if (ret_watch)
		ret_watch->count = 0;
	return v->fs->ops->view_confirm(v, ret, ret_watch);
}

bool fs_view_is_clean(const struct fs_view *v)
{
	return !v->live;
}

uint64_t fs_view_root(struct fs_view *v)
{
	return v->fs->ops->root(v);
}

int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret_inode)
{
	for (unsigned names = 0; *path; names++) {
		size_t length = strcspn(path, "/");
		int r;

		if (length == 0) {
			path++;
			continue;
		}
		if (names == MAX_PATH_NAMES || length > FS_MAX_NAME)
			return -ENOENT;
		r = v->fs->ops->lookup(v, dir, path, length, &dir);
		if (r < 0)
			return r;
		path += length;
	}
	*ret_inode = dir;
	return 0;
}

struct listing {
	fs_list_cb *cb;
	void *ctx;
};

/* Skips names that no file can have.  A hostile guest may write these. */
static int list_name(void *ctx, const char *name, uint64_t inode)
{
	const struct listing *l = ctx;

	return *name && !strchr(name, '/') ? l->cb(l->ctx, name, inode) : 0;
}

int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx)
{
	struct listing l = {cb, ctx};

	return v->fs->ops->list(v, dir, list_name, &l);
}

int fs_file_add_extent(struct fs *fs, struct fs_file *f, uint64_t logical, uint64_t physical,
		       uint64_t length)
{
	return fs_file_extend(f, fs->length, logical, physical, length);
}

int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = v->fs->ops->map(v, inode, ret);
	if (r < 0)
		fs_file_clear(ret);
	return r;
}

int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length)
{
	return fs_file_read_at(fs->volume, f, offset, buf, length);
}

#define SETTLED_STEP (1U << 20)

/* Bytes at the start of an unsettled extent that are settled, in steps of SETTLED_STEP. */
static uint64_t settled_from_start(struct fs *fs, const struct fs_extent *e)
{
	uint64_t done = 0;

	while (e->length - done > SETTLED_STEP &&
	       fs->ops->settled(fs, e->physical + done, SETTLED_STEP))
		done += SETTLED_STEP;
	return done;
}

/* As settled_from_start(), at the end of the extent. */
static uint64_t settled_from_end(struct fs *fs, const struct fs_extent *e)
{
	uint64_t done = 0;

	while (e->length - done > SETTLED_STEP &&
	       fs->ops->settled(fs, e->physical + e->length - done - SETTLED_STEP, SETTLED_STEP))
		done += SETTLED_STEP;
	return done;
}

void fs_file_unsettled(struct fs *fs, const struct fs_file *f, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned i = 0; i < f->num_extents; i++) {
		const struct fs_extent *e = &f->extents[i];

		if (fs->ops->settled(fs, e->physical, e->length))
			continue;
		if (start == UINT64_MAX)
			start = e->logical + settled_from_start(fs, e);
		end = e->logical + e->length - settled_from_end(fs, e);
	}
	*ret_start = start == UINT64_MAX ? 0 : start;
	*ret_end = end;
}

bool fs_file_head_settled(struct fs *fs, const struct fs_file *f, uint64_t length)
{
	uint64_t start, end;

	fs_file_unsettled(fs, f, &start, &end);
	return end == 0 || start >= length;
}

int fs_basis_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch)
{
	if (ret_watch)
		ret_watch->count = 0;
	return fs->ops->check(fs, b, ret_watch);
}

bool fs_basis_is_clean(const struct fs_basis *b)
{
	return !b->live;
}

size_t fs_basis_pack(const struct fs_basis *b, const void **ret)
{
	*ret = b;
	return sizeof(*b) + b->count * sizeof(b->blocks[0]);
}

struct fs_basis *fs_basis_unpack(const void *packed, size_t length)
{
	struct fs_basis *b;

	if (length < sizeof(*b))
		return NULL;
	b = malloc(length);
	if (!b)
		return NULL;
	memcpy(b, packed, length);
	if (b->count == (length - sizeof(*b)) / sizeof(b->blocks[0]))
		return b;
	free(b);
	return NULL;
}

void fs_basis_free(struct fs_basis *b)
{
	free(b);
}

int fs_stamp_begin(struct fs *fs, struct fs_stamp *ret)
{
	return volume_changes(fs->volume, &ret->changes);
}

bool fs_stamp_equal(const struct fs_stamp *a, const struct fs_stamp *b)
{
	return a->changes == b->changes && !memcmp(a->super, b->super, sizeof(a->super));
}
