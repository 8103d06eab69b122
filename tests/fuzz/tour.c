// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements tour.h: asks every question, and checks the answers. */
#include "tour.h"

#include <errno.h>
#include <string.h>

#include "parser/hdfs/locate.h"
#include "parser/hdfs/newest.h"
#include "fuzz.h"
#include "parser/hdfs/data_dir.h"

#define POOL "BP-1-127.0.0.1-1"
#define MAX_DEPTH 8
#define MAX_FILES 64
#define MAX_NAMES 4096 /* listed; most of these files are not examined */

static void check_file(struct fs *fs, const struct fs_file *f)
{
	uint64_t end = 0, size = volume_size(fs_volume(fs));

	check(f->size <= INT64_MAX && f->num_extents <= FS_MAX_EXTENTS);
	for (unsigned i = 0; i < f->num_extents; i++) {
		const struct fs_extent *e = &f->extents[i];

		check(e->length && e->logical >= end);
		check(e->physical <= size && e->length <= size - e->physical);
		end = e->logical + e->length;
	}
}

static void read_file(struct fs *fs, const struct fs_file *f)
{
	uint64_t start, end;
	uint8_t buf[64];
	uint64_t last = f->size > sizeof(buf) ? f->size - sizeof(buf) : 0;
	size_t length = f->size < sizeof(buf) ? (size_t)f->size : sizeof(buf);

	check(fs_file_read(fs, f, 0, buf, length) == 0);
	check(fs_file_read(fs, f, last, buf, length) == 0);
	check(fs_file_read(fs, f, f->size, buf, 1) == -ENODATA);
	fs_file_unsettled(fs, f, &start, &end);
}

struct visitor {
	struct fs *fs;
	struct fs_view *view;
	uint64_t dir; /* that is being listed */
	unsigned depth, files;
};

static int visit(void *ctx, const char *name, uint64_t inode)
{
	struct visitor *t = ctx;
	struct fs_file file;
	uint64_t again;

	check(name[0] && strlen(name) <= FS_MAX_NAME && !strchr(name, '/') && strcmp(name, ".."));
	if (++t->files > MAX_FILES)
		return t->files > MAX_NAMES;
	(void)fs_view_lookup(t->view, t->dir, name, &again);
	if (fs_view_map(t->view, inode, &file) == 0) {
		check_file(t->fs, &file);
		read_file(t->fs, &file);
		fs_file_clear(&file);
	} else if (t->depth < MAX_DEPTH) {
		uint64_t dir = t->dir;

		t->depth++;
		t->dir = inode;
		(void)fs_view_list(t->view, inode, visit, t);
		t->dir = dir;
		t->depth--;
	}
	return 0;
}

static void find_block(struct fs *fs, struct fs_view *view, int64_t id)
{
	struct block_files files;

	if (block_locate(fs, view, "/data", POOL, id, 1001, &files) < 0)
		return;
	check_file(fs, &files.data);
	check_file(fs, &files.meta);
	read_file(fs, &files.data);
	block_files_clear(&files);
}

static void find_newest(struct fs *fs)
{
	struct replica_name names[NEWEST_MAX];
	unsigned count;

	(void)newest_replicas(fs, "/data/current/" POOL "/current/finalized", names, &count);
	check(count <= NEWEST_MAX);
	for (unsigned i = 0; i < count; i++)
		check(names[i].id >= 0 && (i == 0 || names[i].id <= names[i - 1].id));
}

static void read_data_dir(struct fs *fs, struct fs_view *view, const char *path)
{
	struct layout_data_dir dir;
	char reason[DATA_DIR_MAX_REASON] = "";

	if (data_dir_read(fs, view, path, &dir, reason) < 0) {
		check(reason[0]);
		return;
	}
	check(dir.num_pools <= LAYOUT_MAX_POOLS && layout_path_valid(dir.path));
	layout_data_dir_clear(&dir);
}

void tour(struct fs *fs, struct fs_view *view)
{
	struct visitor visitor = {fs, view, fs_view_root(view), 0, 0};

	read_data_dir(fs, view, "/data");
	read_data_dir(fs, view, "/link/data");
	for (int64_t id = 1; id <= 4; id++)
		find_block(fs, view, id);
	find_newest(fs);
	(void)fs_view_list(view, fs_view_root(view), visit, &visitor);
}
