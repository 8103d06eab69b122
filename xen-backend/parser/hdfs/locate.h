/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locate.h - finds the two files of a block in a datanode's data directory. Called by
 * parser/serve.c for the question LOCATE, and by folder.c. The data file is one of
 *
 *   <dir>/current/<pool>/current/finalized/subdir<a>/subdir<b>/blk_<id>
 *   <dir>/current/<pool>/current/rbw/blk_<id>          being written
 *
 * and blk_<id>_<genstamp>.meta lies beside it.
 */
#ifndef VREAD_BLOCK_LOCATE_H
#define VREAD_BLOCK_LOCATE_H

#include "parser-protocol/blocks.h"
#include "parser/fs/fs.h"

/* Finds a block. Returns 0 and `*ret` (block_files_clear() it), or negative errno: ENODEV the
 * directory has no such pool, ENOENT, EEXIST the block has another generation stamp, EILSEQ the
 * .meta file is missing or malformed, EOPNOTSUPP its checksums are none that vRead verifies,
 * ENODATA, EAGAIN the .meta file is still in a journal of data, EIO, ENOMEM. */
int block_locate(struct fs *fs, struct fs_view *view, const char *dir, const char *pool, int64_t id,
		 uint64_t genstamp, struct block_files *ret);
/* True if `name` is "blk_<id>", exactly as HDFS writes it. */
bool block_parse_data_name(const char *name, int64_t *ret_id);
/* True if `name` is "blk_<id>_<genstamp>.meta", exactly as HDFS writes it. */
bool block_parse_meta_name(const char *name, int64_t *ret_id, uint64_t *ret_genstamp);

/* Reads and parses the header of the .meta file `meta`. Returns 0, or -EILSEQ,
 * -EOPNOTSUPP or -EAGAIN (all with `*ret_reason`, static), or -EIO. */
int block_read_header(struct fs *fs, const struct fs_file *meta, struct meta_header *ret,
		      const char **ret_reason);

#endif
