// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists block replicas: walks the block directories of every datanode, folder by folder. `vread
 * blocks` calls it; list.h describes the function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "parser-protocol/blocks.h"
#include "datanode/datanode_private.h"
#include "datanode/list.h"

#define SUBDIRS 32

struct walk {
	int (*cb)(void *ctx, const struct block_listing *b);
	void *ctx;
	struct served *served;
	const struct parser_fs *fs;
	struct block_listing listing;
	unsigned unreadable; /* folders of this pool that cannot be listed */
	int last_error;
};

static int report(struct walk *w, const struct folder_block *b)
{
	w->listing.block_id = b->id;
	w->listing.genstamp = b->genstamp;
	w->listing.length = b->length;
	w->listing.status = b->status;
	w->listing.problem = b->status ? b->problem : NULL;
	return w->cb(w->ctx, &w->listing);
}

static int walk_path(struct walk *w, const char *path)
{
	struct folder_block *blocks;
	size_t count;
	int r = served_judge(w->served,
			     parser_list(w->fs, path, w->listing.finalized, &blocks, &count));

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == -EIO || r == -EFBIG || r == -EAGAIN) {
		w->unreadable++;
		w->last_error = r;
		return 0;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++)
		r = report(w, &blocks[i]);
	free(blocks);
	return r;
}

/* Logs one line for a pool, however much of the image is damaged. */
static void warn_unreadable(struct walk *w, const char *dir, const char *pool)
{
	if (w->unreadable)
		log_datanode(LOG_LEVEL_WARN, w->listing.datanode,
			     "%u block folders of pool %s in %s cannot be listed: %s",
			     w->unreadable, pool, dir, strerror(-w->last_error));
	w->unreadable = 0;
}

static int walk_pool(struct walk *w, const char *dir, const char *pool)
{
	char path[2048];
	int r = 0;

	w->listing.pool_id = pool;
	w->listing.finalized = true;
	for (int i = 0; i < SUBDIRS * SUBDIRS && r == 0; i++) {
		snprintf(path, sizeof(path), "%s/current/%s/current/finalized/subdir%d/subdir%d",
			 dir, pool, i / SUBDIRS, i % SUBDIRS);
		r = walk_path(w, path);
	}
	if (r != 0)
		return r;
	w->listing.finalized = false;
	snprintf(path, sizeof(path), "%s/current/%s/current/rbw", dir, pool);
	r = walk_path(w, path);
	warn_unreadable(w, dir, pool);
	return r;
}

static bool is_refused(const struct walk *w, const struct layout_filesystem *lfs)
{
	char place[LAYOUT_MAX_PLACE], *reason;
	bool refused = parser_fs_state(w->fs, &reason) == FS_REFUSED;

	if (refused)
		log_datanode(LOG_LEVEL_WARN, w->listing.datanode,
			     "%s: %s; its blocks are not listed", layout_place(lfs, place),
			     reason ? reason : "out of memory");
	free(reason);
	return refused;
}

static int walk_filesystem(struct walk *w, const struct layout_filesystem *lfs)
{
	int r = 0;

	if (is_refused(w, lfs))
		return 0;

	for (unsigned i = 0; i < lfs->num_data_dirs && r == 0; i++) {
		const struct layout_data_dir *dir = &lfs->data_dirs[i];

		w->listing.storage_id = dir->storage_id;
		for (unsigned k = 0; k < dir->num_pools && r == 0; k++)
			r = walk_pool(w, dir->path, dir->pools[k]);
	}
	return r;
}

int registry_list(struct registry *s, int (*cb)(void *ctx, const struct block_listing *b),
		  void *ctx)
{
	struct walk w = {.cb = cb, .ctx = ctx};
	struct roster *all = registry_roster(s);
	int r = 0;

	for (unsigned i = 0; i < all->count && r == 0; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		if (!v)
			continue;
		w.served = v;
		w.listing.datanode = all->datanode[i]->name;
		for (unsigned k = 0; k < v->layout->num_filesystems && r == 0; k++) {
			w.fs = &v->fs[k];
			r = walk_filesystem(&w, &v->layout->filesystems[k]);
		}
		served_put(v);
	}
	roster_put(all);
	return r;
}
