/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder.h - the block replicas in one folder of a data directory; done by parsers.
 */
#ifndef VREAD_BLOCK_FOLDER_H
#define VREAD_BLOCK_FOLDER_H

#include "fs/fs.h"

/* HDFS puts at most 256 blocks in one; rbw/ may hold more. */
#define FOLDER_MAX_NAMES (1U << 18)

struct folder_block {
	int64_t id;
	uint64_t genstamp; /* 0 without a .meta */
	uint64_t length;   /* bytes of the data file; 0 if status says it cannot be told */
	int status;        /* 0: readable so far as one can tell, else as block_open() would fail */
	char problem[64];  /* English, "" if status is 0 */
};

/* All of one committed state, by id: 0 and *ret (free() it), or negative errno. */
int folder_list(struct fs *fs, const char *path, bool finalized, struct folder_block **ret,
		size_t *ret_count);

#endif
