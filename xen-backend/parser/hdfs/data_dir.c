// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the VERSION file and the block pools of a data directory. discover.c calls it;
 * data_dir.h describes the function.
 */
#include "parser/hdfs/data_dir.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/data_version.h"

__attribute__((format(printf, 3, 4))) static int fail(char reason[DATA_DIR_MAX_REASON], int error,
						      const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, DATA_DIR_MAX_REASON, format, ap);
	va_end(ap);
	return error;
}

/* Translates an error of the file system into an error and a reason about the file VERSION. */
static int version_error(char reason[DATA_DIR_MAX_REASON], int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return fail(reason, -ENOENT, "no such directory with a file current/VERSION");
	case -ENODATA:
		return fail(reason, error,
			    "its current/VERSION is not in written blocks of its own (not synced "
			    "yet)");
	case -EAGAIN:
		return fail(reason, error,
			    "its current/VERSION is still in its file system's journal "
			    "(data=journal)");
	case -EBUSY:
		return fail(reason, error,
			    "its file system is in use in a way that cannot be read");
	case -ENOMEM:
		return fail(reason, error, "out of memory");
	default:
		return fail(reason, -EIO, "its current/VERSION cannot be read");
	}
}

/* As version_error(), for a path on which a symbolic link was followed. */
static int link_error(char reason[DATA_DIR_MAX_REASON], int error, const struct fs_resolved *to)
{
	if (error == -ELOOP)
		return fail(reason, -ELOOP, "%.300s is one of too many symbolic links", to->link);
	if (to->link[0] && (error == -ENOENT || error == -ENOTDIR))
		return fail(reason, -ELOOP,
			    "%.300s is a symbolic link to %.300s, which has no file "
			    "current/VERSION on this file system (if it is on another disk, name "
			    "its path inside that disk's file system)",
			    to->link, to->target);
	return version_error(reason, error);
}

/* Reads a small file into `*ret` (free() it, also on failure). */
static int read_small(struct fs *fs, struct fs_view *view, uint64_t inode, char **ret,
		      size_t *ret_length)
{
	struct fs_file file;
	int r = fs_view_map(view, inode, &file);

	if (r < 0)
		return r;
	*ret_length = (size_t)file.size;
	if (file.size > DATA_VERSION_MAX_BYTES)
		r = -EFBIG;
	else if (!fs_file_head_settled(fs, &file, file.size))
		r = -EAGAIN;
	else if (fs_file_first_hole(&file, 0, file.size) < file.size)
		r = -ENODATA;
	else if (!(*ret = malloc((size_t)file.size + 1)))
		r = -ENOMEM;
	else
		r = fs_file_read(fs, &file, 0, *ret, (size_t)file.size);
	fs_file_clear(&file);
	return r;
}

static int read_version(struct fs *fs, struct fs_view *view, uint64_t current,
			struct data_version *ret, char reason[DATA_DIR_MAX_REASON])
{
	char wrong[DATA_VERSION_MAX_REASON], *text = NULL;
	size_t length = 0;
	uint64_t inode;
	int r = fs_view_lookup(view, current, "VERSION", &inode);

	if (r == 0)
		r = read_small(fs, view, inode, &text, &length);
	if (r == -EFBIG)
		r = fail(reason, -EINVAL, "its current/VERSION is too long: %zu bytes", length);
	else if (r == 0 && data_version_parse(text, length, ret, wrong) < 0)
		r = fail(reason, -EINVAL, "its current/VERSION is malformed: %s", wrong);
	else if (r == 0 && !ret->is_datanode)
		r = fail(reason, -EINVAL,
			 "its current/VERSION is not a datanode's (storageType is not DATA_NODE)");
	free(text);
	return r;
}

static int collect_pool(void *ctx, const char *name, uint64_t inode)
{
	struct layout_data_dir *d = ctx;

	(void)inode;
	if (strncmp(name, "BP-", 3) || !layout_pool_valid(name))
		return 0;
	d->pools[d->num_pools] = strdup(name);
	if (!d->pools[d->num_pools])
		return -ENOMEM;
	return ++d->num_pools == LAYOUT_MAX_POOLS;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the namespace id in the VERSION file of a pool; 0: not known. */
static uint32_t namespace_of(struct fs *fs, struct fs_view *view, uint64_t inode)
{
	struct data_version version;
	char reason[DATA_VERSION_MAX_REASON], *text = NULL;
	size_t length = 0;
	int r = read_small(fs, view, inode, &text, &length);

	if (r == 0)
		r = data_version_parse(text, length, &version, reason);
	free(text);
	return r == 0 ? version.namespace_id : 0;
}

/* Drops pools without a VERSION file: HDFS has not finished making them. */
static void drop_unfinished(struct fs *fs, struct fs_view *view, uint64_t current,
			    struct layout_data_dir *d)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < d->num_pools; i++) {
		uint64_t inode;
		int r = fs_view_lookup(view, current, d->pools[i], &inode);

		if (r == 0)
			r = fs_view_lookup(view, inode, "current/VERSION", &inode);
		if (r == 0) {
			d->pools[kept] = d->pools[i];
			d->namespaces[kept++] = namespace_of(fs, view, inode);
		} else {
			free(d->pools[i]);
		}
	}
	d->num_pools = kept;
}

/* Blocks are found without this list; it serves only listings and the choice of an error. So a
 * listing that ends early is no reason to refuse the directory. */
static int find_pools(struct fs *fs, struct fs_view *view, uint64_t current,
		      struct layout_data_dir *d)
{
	d->pools = calloc(LAYOUT_MAX_POOLS, sizeof(*d->pools));
	d->namespaces = calloc(LAYOUT_MAX_POOLS, sizeof(*d->namespaces));
	if (!d->pools || !d->namespaces || fs_view_list(view, current, collect_pool, d) == -ENOMEM)
		return -ENOMEM;
	qsort(d->pools, d->num_pools, sizeof(*d->pools), by_name);
	drop_unfinished(fs, view, current, d);
	return 0;
}

/* Finds the folder "current" of the data directory, whose path without links becomes to->path. */
static int find_current(struct fs_view *view, const char *path, struct fs_resolved *to)
{
	char with_current[FS_MAX_LINK];
	char *name;
	int r;

	to->link[0] = '\0';
	if (snprintf(with_current, sizeof(with_current), "%s/current", path) >=
	    (int)sizeof(with_current))
		return -ENOENT;
	r = fs_view_resolve(view, with_current, to);
	if (r < 0)
		return r;
	/* Blocks are looked up below DIRECTORY/current. */
	name = strrchr(to->path, '/');
	if (!name || strcmp(name, "/current"))
		return -ENOENT;
	*name = '\0';
	if (name == to->path)
		strcpy(to->path, "/");
	return layout_path_valid(to->path) ? 0 : -ENOENT;
}

int data_dir_read(struct fs *fs, struct fs_view *view, const char *path,
		  struct layout_data_dir *ret, char reason[DATA_DIR_MAX_REASON])
{
	struct layout_data_dir d = {0};
	struct data_version version;
	struct fs_resolved to;
	int r = find_current(view, path, &to);

	if (r == 0)
		r = read_version(fs, view, to.inode, &version, reason);
	if (r == -EINVAL)
		return r;
	if (r < 0)
		return link_error(reason, r, &to);
	d.path = strdup(to.path);
	d.storage_id = strdup(version.storage_id);
	d.datanode_uuid = strdup(version.datanode_uuid);
	d.cluster_id = strdup(version.cluster_id);
	if (!d.path || !d.storage_id || !d.datanode_uuid || !d.cluster_id ||
	    find_pools(fs, view, to.inode, &d) < 0) {
		layout_data_dir_clear(&d);
		return fail(reason, -ENOMEM, "out of memory");
	}
	*ret = d;
	return 0;
}
