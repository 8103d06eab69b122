// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walking the block directories of every datanode; see list.h.  A folder's names
 * are collected first (a bounded number), data files and .meta files paired by
 * id, and each pair looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/internal.h"
#include "block/list.h"
#include "block/locate.h"

/* HDFS puts at most 256 blocks in one; rbw/ may hold more. */
#define MAX_NAMES (1U << 18)
#define SUBDIRS 32

struct entry {
	int64_t id;
	uint64_t genstamp;
	uint64_t inode;
	bool is_meta;

	/* of data files, once looked at: as in struct block_listing */
	uint64_t length;
	int status;
	const char *problem;
};

struct folder {
	struct entry *entries;
	size_t count, capacity;
};

struct walk {
	int (*cb)(void *ctx, const struct block_listing *b);
	void *ctx;
	struct fs *fs;
	struct fs_view *view;
	struct block_listing listing;
	unsigned unreadable; /* folders of this pool */
	int last_error;
};

static int collect(void *ctx, const char *name, uint64_t inode)
{
	struct folder *f = ctx;
	struct entry e = {.inode = inode};

	e.is_meta = block_parse_meta_name(name, &e.id, &e.genstamp);
	if (!e.is_meta && !block_parse_data_name(name, &e.id))
		return 0;
	if (f->count == f->capacity) {
		size_t capacity = f->capacity ? 2 * f->capacity : 64;
		struct entry *grown = reallocarray(f->entries, capacity, sizeof(*grown));

		if (!grown || f->count >= MAX_NAMES) {
			f->entries = grown ? grown : f->entries;
			return grown ? -EFBIG : -ENOMEM;
		}
		f->entries = grown;
		f->capacity = capacity;
	}
	f->entries[f->count++] = e;
	return 0;
}

/* By id, each data file before its .meta files, the newest of those first. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->is_meta != y->is_meta)
		return x->is_meta ? 1 : -1;
	return x->genstamp == y->genstamp ? 0 : x->genstamp > y->genstamp ? -1 : 1;
}

static int examine_meta(struct walk *w, uint64_t inode, uint64_t data_length)
{
	struct meta_header header;
	struct fs_file meta;
	uint64_t expected;
	int r = fs_view_map(w->view, inode, &meta);

	w->listing.problem = "its .meta cannot be read";
	if (r < 0)
		return r == -ENODATA ? -EILSEQ : r;
	w->listing.problem = "its .meta is malformed";
	r = block_read_header(w->fs, &meta, &header, &w->listing.problem);
	if (r == 0 && w->listing.finalized &&
	    (!meta_expected_length(&header, data_length, &expected) || expected > meta.size)) {
		w->listing.problem = "its .meta is truncated";
		r = -EILSEQ;
	}
	fs_file_clear(&meta);
	return r;
}

static int examine(struct walk *w, const struct entry *data, const struct entry *meta)
{
	struct fs_file file;
	int r = fs_view_map(w->view, data->inode, &file);
	bool whole;

	if (r < 0) {
		w->listing.problem = r == -ENODATA ? "its data is inline, encrypted or compressed"
						   : "its data file cannot be read";
		return r;
	}
	w->listing.length = file.size;
	whole = file.mapped == file.size;
	fs_file_clear(&file);
	if (!whole) {
		w->listing.problem = "its data has a hole or an unwritten extent";
		return -ENODATA;
	}
	if (!meta) {
		w->listing.problem = "its .meta is missing";
		return -EILSEQ;
	}
	return examine_meta(w, meta->inode, w->listing.length);
}

/* The .meta of a data file, which it follows; or NULL. */
static const struct entry *meta_of(const struct folder *f, const struct entry *data)
{
	const struct entry *next = data + 1;

	return next < f->entries + f->count && next->id == data->id && next->is_meta ? next : NULL;
}

static void examine_all(struct walk *w, struct folder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct entry *e = &f->entries[i];

		if (e->is_meta)
			continue;
		w->listing.length = 0;
		e->status = examine(w, e, meta_of(f, e));
		e->problem = e->status ? w->listing.problem : NULL;
		e->length = w->listing.length;
	}
}

static int report_all(struct walk *w, const struct folder *f)
{
	int r = 0;

	for (size_t i = 0; i < f->count && r == 0; i++) {
		const struct entry *e = &f->entries[i], *meta;

		if (e->is_meta)
			continue;
		meta = meta_of(f, e);
		w->listing.block_id = e->id;
		w->listing.genstamp = meta ? meta->genstamp : 0;
		w->listing.length = e->length;
		w->listing.status = e->status;
		w->listing.problem = e->problem;
		r = w->cb(w->ctx, &w->listing);
	}
	return r;
}

static int look_into(struct walk *w, const char *path, struct folder *f)
{
	uint64_t inode;
	int r = fs_view_lookup(w->view, fs_view_root(w->view), path, &inode);

	if (r == 0)
		r = fs_view_list(w->view, inode, collect, f);
	if (r == 0 && f->count)
		qsort(f->entries, f->count, sizeof(*f->entries), compare);
	if (r == 0)
		examine_all(w, f);
	return r;
}

/* In one committed state, and reported only once that is sure. */
static int walk_once(struct walk *w, const char *path)
{
	struct folder f = {0};
	int confirmed, r = fs_view_open(w->fs, &w->view, NULL);

	if (r < 0)
		return r;
	r = look_into(w, path, &f);
	confirmed = fs_view_confirm(w->view, NULL);
	fs_view_close(w->view);
	if (confirmed < 0)
		r = confirmed;
	if (r == 0)
		r = report_all(w, &f);
	free(f.entries);
	return r;
}

/* A view's budget bounds what one hostile image can make us read; a folder each
 * gets a fresh one. */
static int walk_path(struct walk *w, const char *path)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++)
		r = walk_once(w, path);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == -EIO || r == -EFBIG || r == -EAGAIN) {
		w->unreadable++;
		w->last_error = r;
		return 0;
	}
	return r;
}

/* One line, however much of the image is damaged. */
static void warn_unreadable(struct walk *w, const char *dir, const char *pool)
{
	if (w->unreadable)
		log_warn("datanode %s: %u block folders of pool %s in %s cannot be listed: %s",
			 w->listing.datanode, w->unreadable, pool, dir, strerror(-w->last_error));
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
	char place[LAYOUT_MAX_PLACE];
	const char *reason;

	if (fs_state(w->fs, &reason) != FS_REFUSED)
		return false;
	log_warn("datanode %s: %s: %s; its blocks are not listed", w->listing.datanode,
		 layout_place(lfs, place), reason);
	return true;
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

int block_store_list(struct block_store *s, int (*cb)(void *ctx, const struct block_listing *b),
		     void *ctx)
{
	struct walk w = {.cb = cb, .ctx = ctx};
	int r = 0;

	for (unsigned i = 0; i < s->num_datanodes && r == 0; i++) {
		struct served *v = store_datanode_served(s->datanodes[i]);

		w.listing.datanode = s->datanodes[i]->name;
		for (unsigned k = 0; k < v->layout->num_filesystems && r == 0; k++) {
			w.fs = v->fs[k];
			r = walk_filesystem(&w, &v->layout->filesystems[k]);
		}
		served_put(v);
	}
	return r;
}
