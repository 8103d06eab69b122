// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What all file-system readers share: paths, extent lists and reads by extent;
 * see fs.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "fs/ext4.h"
#include "fs/fs.h"
#include "fs/fs_impl.h"
#include "fs/xfs.h"

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

bool fs_type_known(const char *type)
{
	return find_reader(type) != NULL;
}

const char *fs_type_names(void)
{
	return "ext2, ext3, ext4 or xfs";
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

int fs_view_confirm(struct fs_view *v, struct fs_basis **ret)
{
	return v->fs->ops->view_confirm(v, ret);
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

/* A directory made to harm holds names that none can have. */
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

static bool grow(struct fs_file *f)
{
	unsigned capacity = f->num_extents ? 2 * f->num_extents : 4;
	struct fs_extent *e;

	/* Full exactly at 0 and at the powers of two from 4 up. */
	if (f->num_extents && (f->num_extents < 4 || (f->num_extents & (f->num_extents - 1))))
		return true;
	e = reallocarray(f->extents, capacity, sizeof(*e));
	if (!e)
		return false;
	f->extents = e;
	return true;
}

int fs_file_add_extent(struct fs *fs, struct fs_file *f, uint64_t logical, uint64_t physical,
		       uint64_t length)
{
	struct fs_extent *last = f->num_extents ? &f->extents[f->num_extents - 1] : NULL;
	uint64_t end;

	if (length == 0 || __builtin_add_overflow(logical, length, &end))
		return -EIO;
	if (physical > fs->length || length > fs->length - physical)
		return -EIO;
	if (last && logical < last->logical + last->length)
		return -EIO;
	if (last && logical == last->logical + last->length &&
	    physical == last->physical + last->length) {
		last->length += length;
		return 0;
	}
	if (f->num_extents == FS_MAX_EXTENTS)
		return -EIO;
	if (!grow(f))
		return -ENOMEM;
	f->extents[f->num_extents++] = (struct fs_extent){logical, physical, length};
	return 0;
}

void fs_file_measure(struct fs_file *f)
{
	uint64_t end = f->content ? f->size : 0;

	for (unsigned i = 0; i < f->num_extents && f->extents[i].logical == end; i++)
		end += f->extents[i].length;
	f->mapped = end < f->size ? end : f->size;
}

int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = v->fs->ops->map(v, inode, ret);
	if (r < 0) {
		fs_file_clear(ret);
		return r;
	}
	fs_file_measure(ret);
	return 0;
}

void fs_file_clear(struct fs_file *f)
{
	free(f->extents);
	free(f->content);
	memset(f, 0, sizeof(*f));
}

/* Index of the extent that holds offset, which lies below f->mapped. */
static unsigned find_extent(const struct fs_file *f, uint64_t offset)
{
	unsigned low = 0, high = f->num_extents;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (f->extents[middle].logical <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A piece of f in one place of the volume; a file in metadata has none. */
typedef int piece_fn(struct fs *fs, uint64_t physical, size_t length, void *ctx);

static int for_each_piece(struct fs *fs, const struct fs_file *f, uint64_t offset, size_t length,
			  piece_fn *fn, void *ctx)
{
	if (offset > f->mapped || length > f->mapped - offset)
		return -ENODATA;
	if (length == 0 || f->content)
		return 0;
	for (unsigned i = find_extent(f, offset); length > 0; i++) {
		const struct fs_extent *e = &f->extents[i];
		uint64_t skip = offset - e->logical;
		size_t n = length < e->length - skip ? length : (size_t)(e->length - skip);
		int r = fn(fs, e->physical + skip, n, ctx);

		if (r < 0)
			return r;
		offset += n;
		length -= n;
	}
	return 0;
}

static int read_piece(struct fs *fs, uint64_t physical, size_t length, void *ctx)
{
	uint8_t **to = ctx;
	int r = volume_read(fs->volume, physical, *to, length);

	*to += length;
	return r;
}

int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length)
{
	uint8_t *to = buf;
	int r = for_each_piece(fs, f, offset, length, read_piece, &to);

	if (r == 0 && f->content)
		memcpy(buf, f->content + offset, length);
	return r;
}

static int settled_piece(struct fs *fs, uint64_t physical, size_t length, void *ctx)
{
	(void)ctx;
	return fs->ops->settled(fs, physical, length) ? 0 : -EAGAIN;
}

int fs_file_settled(struct fs *fs, const struct fs_file *f, uint64_t offset, size_t length)
{
	return for_each_piece(fs, f, offset, length, settled_piece, NULL);
}

int fs_basis_check(struct fs *fs, struct fs_basis *b)
{
	return fs->ops->check(fs, b);
}

bool fs_basis_is_clean(const struct fs_basis *b)
{
	return !b->live;
}

size_t fs_basis_weight(const struct fs_basis *b)
{
	return sizeof(*b) + b->count * sizeof(b->blocks[0]);
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
