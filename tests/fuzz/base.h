/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base.h - an ext2/3/4 made by mke2fs and debugfs, and the places in it worth
 * changing.
 *
 * Inputs do not hold images but changes to one of them, so that they are a few
 * bytes long and each changes metadata.
 */
#ifndef VREAD_FUZZ_BASE_H
#define VREAD_FUZZ_BASE_H

#include <ext2fs/ext2fs.h>

#include "memory.h"

#define BASE_MAX_PLACES 1024U
#define BASE_MAX_LOG 8192U
#define BASE_LOG_PLACES 64U /* of the log's blocks */

enum place_kind { PLACE_PLAIN, PLACE_SUPER, PLACE_INODES, PLACE_DIRECTORY, PLACE_TREE, PLACE_LOG };

struct place {
	uint64_t block;
	enum place_kind kind;
	ext2_ino_t inode; /* whose it is; of PLACE_INODES the first one in it */
	bool changed;
};

struct base {
	struct memory memory;
	ext2_filsys fs; /* of the file, which nobody changes */
	uint32_t block_size;
	char uuid[40];
	unsigned num_places;
	struct place places[BASE_MAX_PLACES];
	uint32_t log_blocks;
	uint64_t log[BASE_MAX_LOG]; /* where they are */
};

void base_load(struct base *b, const char *name);

/*
 * Applies those changes of the input that are for that moment (0, 1, 2):
 * each is one byte that says what and when, 2 for the place, 2 for the offset
 * in its block, and then up to 16 bytes to write there, or 2 for the place whose
 * number (little- or big-endian) or content is written there.
 */
void base_change(struct base *b, struct bytes changes, unsigned moment);
/* Makes the checksums of what was changed right. */
void base_fix_sums(struct base *b);
/* As it was. */
void base_restore(struct base *b);

#endif
