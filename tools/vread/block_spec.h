/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block_spec.h - reads blocks as they are written on the command line.  Called by connect.c, for
 * the commands `stat`, `cat` and `publish`.
 *
 * A block is POOL/blk_ID_GS[@STORAGE][:LENGTH], for example
 *
 *   BP-1-10.0.0.1-1/blk_1073741825_1001
 *   BP-1-10.0.0.1-1/blk_-9223372036854775792_1002@DS-6e4b...:134217728
 */
#ifndef VREAD_BLOCK_SPEC_H
#define VREAD_BLOCK_SPEC_H

#include <stdint.h>
#include <stdio.h>

#include "vread-ring-user.h"

struct block_spec {
	char text[VREAD_MAX_POOL_ID + VREAD_MAX_STORAGE_ID + 96]; /* as given */
	char pool[VREAD_MAX_POOL_ID + 1];
	char storage[VREAD_MAX_STORAGE_ID + 1]; /* "": none named */
	int64_t block_id;
	uint64_t genstamp;
	uint64_t length; /* 0: the replica's own */
};

/* NULL, or a static text that says what was expected. */
const char *block_spec_parse(const char *text, struct block_spec *ret);

struct block_list {
	struct block_spec *specs;
	size_t count;
};

/*
 * Append one block, or all blocks of a file ("-": standard input).  The file has one block per
 * line.  Blank lines and lines that begin with '#' are ignored.  0, or an exit code after printing
 * what is wrong.
 */
int block_list_add(struct block_list *list, const char *text);
int block_list_add_file(struct block_list *list, const char *path);
void block_list_free(struct block_list *list);

#endif
