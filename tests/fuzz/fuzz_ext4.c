// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the readers of ext2, ext3 and ext4, clean or with a journal full of transactions: from
 * fs_new() through views, look-ups, listings, extents and reads to the two files of a block.  The
 * file system also changes while a view is open and after the view was confirmed.  This reaches
 * ext4*.c, journal*.c and jbd2.c of parser/fs/, data_dir.c and locate.c of parser/hdfs/, and
 * libext2fs as they call it.
 *
 * The input: one byte for the file system, one that says if checksums stay wrong, then changes
 * (base.h).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "parser/fs/fs.h"
#include "tour.h"

static const char *const names[] = {"clean-4k.img",   "clean-1k.img",  "ext2-1k.img",
				    "strange-1k.img", "live-v3.img",   "live-v2.img",
				    "live-plain.img", "live-sums.img", "live-4k.img"};
#define NUM_BASES (sizeof(names) / sizeof(names[0]))
static struct base bases[NUM_BASES];

/* Nobody writes at the same time, so waiting is useless. */
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
	tour(fs, view);
	if (fs_view_confirm(view, &basis, NULL) == 0) {
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
	question(fs, b, in, sums); /* with what fs knows of the journal now */
	fs_free(fs);
	volume_free(volume);
	base_restore(b);
	return 0;
}
