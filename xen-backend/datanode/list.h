/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list.h - lists every block replica in the images of a registry. `xl-vread blocks` calls it
 * (tools/xl-vread/blocks.c). It reads names, inodes and .meta headers, not data.
 */
#ifndef VREAD_DATANODE_LIST_H
#define VREAD_DATANODE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct registry;

/* One replica. Valid during the callback only. */
struct block_listing {
	const char *datanode;
	const char *storage_id;
	const char *pool_id;
	int64_t block_id;
	uint64_t genstamp; /* 0 without a .meta */
	uint64_t length;   /* bytes of the data file; 0 if status says it is unknown */
	bool finalized;
	int status;          /* 0: readable as far as known; else the error of block_open() */
	const char *problem; /* English, NULL if status is 0 */
};

/* Calls `cb` for each replica. If `cb` returns anything but 0, the listing ends with that value.
 * A file system in state FS_REFUSED, and a folder that cannot be read, are skipped with a
 * warning in the log. Returns 0, the value of `cb`, or negative errno. */
int registry_list(struct registry *s, int (*cb)(void *ctx, const struct block_listing *b),
		  void *ctx);

#endif
