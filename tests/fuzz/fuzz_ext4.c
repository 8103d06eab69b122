// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A datanode's ext2, ext3 or ext4, clean or with a journal full of
 * transactions, made to harm: from fs_new() through views, look-ups, listings,
 * extents and reads to a block's two files, with changes also while a
 * view is open and after it was confirmed.  So this reaches all of fs/ext4*.c,
 * fs/journal*.c, fs/jbd2.c, layout/data_dir.c and block/locate.c, and libext2fs
 * as they call it.
 *
 * The input: which file system, whether checksums stay wrong, then changes to it
 * (base.h).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "block/locate.h"
#include "fs/fs.h"
#include "layout/data_dir.h"

#define POOL "BP-1-127.0.0.1-1"
#define MAX_DEPTH 6
#define MAX_FILES 64

static const char *const names[] = {"clean-4k.img",   "clean-1k.img",  "ext2-1k.img",
				    "strange-1k.img", "live-v3.img",   "live-v2.img",
				    "live-plain.img", "live-sums.img", "live-4k.img"};
#define NUM_BASES (sizeof(names) / sizeof(names[0]))
static struct base bases[NUM_BASES];

/* Nobody writes meanwhile, so that waiting for it is of no use. */
int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (unsigned i = 0; i < NUM_BASES; i++)
		base_load(&bases[i], names[i]);
	return 0;
}

static void check_file(struct fs *fs, const struct fs_file *f)
{
	uint64_t end = 0, size = volume_size(fs_volume(fs));

	check(f->mapped <= f->size && f->num_extents <= FS_MAX_EXTENTS);
	for (unsigned i = 0; i < f->num_extents; i++) {
		const struct fs_extent *e = &f->extents[i];

		check(e->length && e->logical >= end);
		check(e->physical <= size && e->length <= size - e->physical);
		end = e->logical + e->length;
	}
}

static void read_file(struct fs *fs, const struct fs_file *f)
{
	uint8_t buf[64];
	uint64_t last = f->mapped > sizeof(buf) ? f->mapped - sizeof(buf) : 0;
	size_t length = f->mapped < sizeof(buf) ? (size_t)f->mapped : sizeof(buf);
	uint64_t start, end;

	check(fs_file_read(fs, f, 0, buf, length) == 0);
	check(fs_file_read(fs, f, last, buf, length) == 0);
	check(fs_file_read(fs, f, f->mapped, buf, 1) == -ENODATA);
	fs_file_unsettled(fs, f, &start, &end);
}

struct tour {
	struct fs *fs;
	struct fs_view *view;
	unsigned depth, files;
};

static int visit(void *ctx, const char *name, uint64_t inode)
{
	struct tour *t = ctx;
	struct fs_file file;
	uint64_t again;

	check(name[0] && strlen(name) <= FS_MAX_NAME && !strchr(name, '/') && strcmp(name, ".."));
	if (++t->files > MAX_FILES)
		return 1;
	(void)fs_view_lookup(t->view, fs_view_root(t->view), name, &again);
	if (fs_view_map(t->view, inode, &file) == 0) {
		check_file(t->fs, &file);
		read_file(t->fs, &file);
		fs_file_clear(&file);
	} else if (t->depth < MAX_DEPTH) {
		t->depth++;
		(void)fs_view_list(t->view, inode, visit, t);
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

static void read_data_dir(struct fs *fs, struct fs_view *view)
{
	struct layout_data_dir dir;
	const char *reason = NULL;

	if (data_dir_read(fs, view, "/data", &dir, &reason) < 0) {
		check(reason);
		return;
	}
	check(dir.num_pools <= LAYOUT_MAX_POOLS);
	layout_data_dir_clear(&dir);
}

static void ask(struct fs *fs, struct fs_view *view)
{
	struct tour tour = {fs, view, 0, 0};

	read_data_dir(fs, view);
	for (int64_t id = 1; id <= 4; id++)
		find_block(fs, view, id);
	(void)fs_view_list(view, fs_view_root(view), visit, &tour);
}

static void change(struct base *b, struct bytes changes, bool sums, unsigned moment)
{
	base_change(b, changes, moment);
	if (sums)
		base_fix_sums(b);
	if (moment && changes.left % 2)
		memory_written(&b->memory);
}

static void question(struct fs *fs, struct base *b, struct bytes changes, bool sums)
{
	struct fs_basis *basis = NULL;
	const char *reason = NULL;
	struct fs_view *view;

	if (fs_view_open(fs, &view, &reason) < 0) {
		check(reason);
		return;
	}
	change(b, changes, sums, 1);
	ask(fs, view);
	if (fs_view_confirm(view, &basis) == 0) {
		check(fs_basis_is_clean(basis) == fs_view_is_clean(view));
		(void)fs_basis_check(fs, basis, NULL);
		change(b, changes, sums, 2);
		(void)fs_basis_check(fs, basis, NULL);
		fs_basis_free(basis);
	}
	fs_view_close(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct base *b = &bases[take8(&in) % NUM_BASES];
	bool sums = take8(&in) % 4 != 3;
	const char *reason = NULL;
	struct volume *volume;
	struct fs *fs;

	check(volume_new_range(b->memory.image, 0, b->memory.size, &volume) == 0);
	check(fs_new(volume, "ext4", b->uuid, &fs) == 0);
	change(b, in, sums, 0);
	if (fs_state(fs, &reason) >= FS_REFUSED)
		check(reason);
	question(fs, b, in, sums);
	question(fs, b, in, sums); /* with what was learned of the journal */
	fs_free(fs);
	volume_free(volume);
	base_restore(b);
	return 0;
}
