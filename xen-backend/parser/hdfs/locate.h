/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locate.h - a block's two files in a datanode's data directory.
 *
 *   <dir>/current/<pool>/current/finalized/subdir<a>/subdir<b>/blk_<id>
 *   <dir>/current/<pool>/current/rbw/blk_<id>          being written
 *
 * each beside its blk_<id>_<genstamp>.meta.
 */
#ifndef VREAD_BLOCK_LOCATE_H
#define VREAD_BLOCK_LOCATE_H

#include "parser-protocol/blocks.h"
#include "parser/fs/fs.h"

/* 0 and *ret (to be released with block_files_clear()), or negative errno: ENODEV
 * the directory has no such pool, ENOENT,
 * EEXIST another generation stamp, EILSEQ the .meta is missing or malformed,
 * ENODATA, EAGAIN the .meta is in a journal of data, EIO, ENOMEM. */
int block_locate(struct fs *fs, struct fs_view *view, const char *dir, const char *pool, int64_t id,
		 uint64_t genstamp, struct block_files *ret);
/* Whether name is "blk_<id>"; strictly as HDFS writes it. */
bool block_parse_data_name(const char *name, int64_t *ret_id);
/* Whether name is "blk_<id>_<genstamp>.meta". */
bool block_parse_meta_name(const char *name, int64_t *ret_id, uint64_t *ret_genstamp);

/* Reads and parses the header of meta: 0, -EILSEQ or -EAGAIN (*ret_reason, static), -EIO. */
int block_read_header(struct fs *fs, const struct fs_file *meta, struct meta_header *ret,
		      const char **ret_reason);

#endif
