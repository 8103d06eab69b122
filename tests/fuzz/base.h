/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base.h - an ext2/3/4 made by mke2fs and debugfs, and the places in it that are worth changing.
 * fuzz_ext4.c uses it.
 *
 * An input holds no image, but changes to one of the images.  So an input is a few bytes long, and
 * each input changes metadata.
 */
#ifndef VREAD_FUZZ_BASE_H
#define VREAD_FUZZ_BASE_H

#include <ext2fs/ext2fs.h>

#include "memory.h"

#define BASE_MAX_PLACES 1024U
#define BASE_MAX_LOG 8192U
#define BASE_LOG_PLACES 64U /* so many blocks of the log are places */

enum place_kind { PLACE_PLAIN, PLACE_SUPER, PLACE_INODES, PLACE_DIRECTORY, PLACE_TREE, PLACE_LOG };

struct place {
	uint64_t block;
	enum place_kind kind;
	ext2_ino_t inode; /* the owner; PLACE_INODES: the first inode in the block */
	bool changed;
};

struct base {
	struct memory memory;
	ext2_filsys fs; /* of the file, which stays unchanged */
	uint32_t block_size;
	char uuid[40];
	unsigned num_places;
	struct place places[BASE_MAX_PLACES];
	uint32_t log_blocks;
	uint64_t log[BASE_MAX_LOG]; /* the blocks of the file system that hold the log */
};

void base_load(struct base *b, const char *name);

/*
 * Applies the changes of the input that belong to a moment (0, 1, 2).  A change is one byte for
 * kind, moment and length, 2 bytes for the place, 2 bytes for the offset in its block, and then
 * either 1 to 16 bytes to write there, or 2 bytes for another place whose number (little- or
 * big-endian) or content is written there.
 */
void base_change(struct base *b, struct bytes changes, unsigned moment);
/* Corrects the checksums of all changed places. */
void base_fix_sums(struct base *b);
/* Undoes all changes. */
void base_restore(struct base *b);

#endif
