// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists the block replicas of a folder. parser/serve.c calls it; folder.h describes the
 * function. It first collects a limited number of names, then pairs data files and .meta files
 * by block id, then examines each pair.
 */
#include "parser/hdfs/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/locate.h"

struct entry {
	int64_t id;
	uint64_t genstamp;
	uint64_t inode;
	bool is_meta;
};

struct folder {
	struct entry *entries;
	size_t count, capacity;
};

/* The state of one attempt. */
struct walk {
	struct fs *fs;
	struct fs_view *view;
	bool finalized;
	struct folder folder;
	struct folder_block *blocks;
	size_t num_blocks;
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

		if (!grown || f->count >= FOLDER_MAX_NAMES) {
			f->entries = grown ? grown : f->entries;
			return grown ? -EFBIG : -ENOMEM;
		}
		f->entries = grown;
		f->capacity = capacity;
	}
	f->entries[f->count++] = e;
	return 0;
}

/* Orders by id; within an id the data file first, then .meta files from the newest to the
 * oldest. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->is_meta != y->is_meta)
		return x->is_meta ? 1 : -1;
	return x->genstamp == y->genstamp ? 0 : x->genstamp > y->genstamp ? -1 : 1;
}

static int examine_meta(struct walk *w, uint64_t inode, uint64_t data_length,
			const char **ret_problem)
{
	struct meta_header header;
	struct fs_file meta;
	uint64_t expected;
	int r = fs_view_map(w->view, inode, &meta);

	*ret_problem = "its .meta cannot be read";
	if (r < 0)
		return r == -ENODATA ? -EILSEQ : r;
	*ret_problem = "its .meta is malformed";
	r = block_read_header(w->fs, &meta, &header, ret_problem);
	if (r == 0 && w->finalized &&
	    (!meta_expected_length(&header, data_length, &expected) || expected > meta.size)) {
		*ret_problem = "its .meta is truncated";
		r = -EILSEQ;
	}
	fs_file_clear(&meta);
	return r;
}

static int examine(struct walk *w, const struct entry *data, const struct entry *meta,
		   uint64_t *ret_length, const char **ret_problem)
{
	struct fs_file file;
	int r = fs_view_map(w->view, data->inode, &file);

	if (r < 0) {
		*ret_problem = r == -ENODATA ? "its data is inline, encrypted or compressed"
					     : "its data file cannot be read";
		return r;
	}
	*ret_length = file.size;
	fs_file_clear(&file);
	if (!meta) {
		*ret_problem = "its .meta is missing";
		return -EILSEQ;
	}
	return examine_meta(w, meta->inode, *ret_length, ret_problem);
}

/* Returns the newest .meta of a data file, which follows it, or NULL. */
static const struct entry *meta_of(const struct folder *f, const struct entry *data)
{
	const struct entry *next = data + 1;

	return next < f->entries + f->count && next->id == data->id && next->is_meta ? next : NULL;
}

static int examine_all(struct walk *w)
{
	const struct folder *f = &w->folder;

	w->blocks = calloc(f->count + 1, sizeof(*w->blocks));
	if (!w->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < f->count; i++) {
		const struct entry *e = &f->entries[i], *meta = meta_of(f, e);
		struct folder_block *b = &w->blocks[w->num_blocks];
		const char *problem = "";

		if (e->is_meta)
			continue;
		b->id = e->id;
		b->genstamp = meta ? meta->genstamp : 0;
		b->status = examine(w, e, meta, &b->length, &problem);
		snprintf(b->problem, sizeof(b->problem), "%s", b->status ? problem : "");
		w->num_blocks++;
	}
	return 0;
}

static int look_into(struct walk *w, const char *path)
{
	struct folder *f = &w->folder;
	uint64_t inode;
	int r = fs_view_lookup(w->view, fs_view_root(w->view), path, &inode);

	if (r == 0)
		r = fs_view_list(w->view, inode, collect, f);
	if (r == 0 && f->count)
		qsort(f->entries, f->count, sizeof(*f->entries), compare);
	return r == 0 ? examine_all(w) : r;
}

/* Lists the folder in one committed state. */
static int walk_once(struct walk *w, const char *path)
{
	int confirmed, r = fs_view_open(w->fs, &w->view, NULL);

	if (r < 0)
		return r;
	r = look_into(w, path);
	confirmed = fs_view_confirm(w->view, NULL, NULL);
	fs_view_close(w->view);
	return confirmed < 0 ? confirmed : r;
}

/* A view has a budget, which limits how much a hostile image can make the parser read. Each
 * folder gets a new view, and so a new budget. */
int folder_list(struct fs *fs, const char *path, bool finalized, struct folder_block **ret,
		size_t *ret_count)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++) {
		struct walk w = {.fs = fs, .finalized = finalized};

		r = walk_once(&w, path);
		free(w.folder.entries);
		if (r == 0) {
			*ret = w.blocks;
			*ret_count = w.num_blocks;
		} else {
			free(w.blocks);
		}
	}
	return r;
}
