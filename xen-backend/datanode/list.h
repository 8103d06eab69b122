/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list.h - every block replica in the images of a store, as `vread blocks` shows
 * them.  Reads names, inodes and .meta headers, not data.
 */
#ifndef VREAD_DATANODE_LIST_H
#define VREAD_DATANODE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct registry;

/* Valid during the callback. */
struct block_listing {
	const char *datanode;
	const char *storage_id;
	const char *pool_id;
	int64_t block_id;
	uint64_t genstamp; /* 0 without a .meta */
	uint64_t length;   /* bytes of the data file; 0 if status says it cannot be told */
	bool finalized;
	int status; /* 0: readable so far as one can tell, else as block_open() would fail */
	const char *problem; /* English, NULL if status is 0 */
};

/* Calls cb for each; cb returns 0 to go on, and any other value ends the listing with it.
 * A file system that is refused (fs.h) and a directory that cannot be read are passed over
 * with a warning in the log.  0, or negative errno. */
int registry_list(struct registry *s, int (*cb)(void *ctx, const struct block_listing *b),
		  void *ctx);

#endif
