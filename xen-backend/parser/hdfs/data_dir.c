// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the VERSION file and the block pools of a data directory. discover.c calls it;
 * data_dir.h describes the function.
 */
#include "parser/hdfs/data_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/data_version.h"

static int fail(const char **ret_reason, int error, const char *reason)
{
	*ret_reason = reason;
	return error;
}

/* Translates an error of the file system into an error and a reason about the file VERSION. */
static int version_error(const char **ret_reason, int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return fail(ret_reason, -ENOENT, "no such directory with a file current/VERSION");
	case -ENODATA:
		return fail(ret_reason, error,
			    "its current/VERSION is not in written blocks of its own (not synced "
			    "yet)");
	case -EAGAIN:
		return fail(ret_reason, error,
			    "its current/VERSION is still in its file system's journal "
			    "(data=journal)");
	case -EBUSY:
		return fail(ret_reason, error,
			    "its file system is in use in a way that cannot be read");
	case -ENOMEM:
		return fail(ret_reason, error, "out of memory");
	default:
		return fail(ret_reason, -EIO, "its current/VERSION cannot be read");
	}
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
			struct data_version *ret, const char **ret_reason)
{
	char *text = NULL;
	size_t length = 0;
	uint64_t inode;
	int r = fs_view_lookup(view, current, "VERSION", &inode);

	if (r == 0)
		r = read_small(fs, view, inode, &text, &length);
	if (r == -EFBIG)
		r = fail(ret_reason, -EINVAL, "its current/VERSION is too long");
	else if (r < 0)
		r = version_error(ret_reason, r);
	else
		r = data_version_parse(text, length, ret, ret_reason);
	free(text);
	if (r == 0 && !ret->is_datanode)
		r = fail(ret_reason, -EINVAL,
			 "its current/VERSION is not a datanode's (storageType is not DATA_NODE)");
	if (r == 0 && !layout_storage_id_valid(ret->storage_id))
		r = fail(ret_reason, -EINVAL, "its current/VERSION has a malformed storageID");
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
	const char *reason;
	char *text = NULL;
	size_t length = 0;
	int r = read_small(fs, view, inode, &text, &length);

	if (r == 0)
		r = data_version_parse(text, length, &version, &reason);
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

int data_dir_read(struct fs *fs, struct fs_view *view, const char *path,
		  struct layout_data_dir *ret, const char **ret_reason)
{
	struct layout_data_dir d = {0};
	struct data_version version;
	uint64_t current;
	int r = fs_view_lookup(view, fs_view_root(view), path, &current);

	if (r == 0)
		r = fs_view_lookup(view, current, "current", &current);
	if (r < 0)
		return version_error(ret_reason, r);
	r = read_version(fs, view, current, &version, ret_reason);
	if (r < 0)
		return r;
	d.path = strdup(path);
	d.storage_id = strdup(version.storage_id);
	d.datanode_uuid = strdup(version.datanode_uuid);
	d.cluster_id = strdup(version.cluster_id);
	if (!d.path || !d.storage_id || !d.datanode_uuid || !d.cluster_id ||
	    find_pools(fs, view, current, &d) < 0) {
		layout_data_dir_clear(&d);
		return fail(ret_reason, -ENOMEM, "out of memory");
	}
	*ret = d;
	return 0;
}
