/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder.h - lists the block replicas in one folder of a data directory. parser/serve.c calls it
 * for the question LIST.
 */
#ifndef VREAD_BLOCK_FOLDER_H
#define VREAD_BLOCK_FOLDER_H

#include "parser-protocol/blocks.h"
#include "parser/fs/fs.h"

/* Lists all replicas, as of one committed state, ordered by id. Returns 0 and `*ret` (free()
 * it), or negative errno. */
int folder_list(struct fs *fs, const char *path, bool finalized, struct folder_block **ret,
		size_t *ret_count);

#endif
