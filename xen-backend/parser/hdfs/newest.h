/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * newest.h - finds the newest finalized replicas of a block pool. parser/serve.c calls it for the
 * question NEWEST.
 */
#ifndef VREAD_PARSER_HDFS_NEWEST_H
#define VREAD_PARSER_HDFS_NEWEST_H

#include "parser-protocol/blocks.h"
#include "parser/fs/fs.h"

/* Sets `ret` to some of the newest replicas below `path`, a pool's directory finalized/, and
 * `*ret_count` to their number: at most NEWEST_MAX, in descending order of id. Striped blocks,
 * which have negative ids, are left out. Returns 0 or negative errno. */
int newest_replicas(struct fs *fs, const char *path, struct replica_name ret[NEWEST_MAX],
		    unsigned *ret_count);

#endif
