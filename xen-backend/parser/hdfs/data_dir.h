/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_dir.h - one data directory of a datanode, as its file system shows it.
 */
#ifndef VREAD_LAYOUT_DATA_DIR_H
#define VREAD_LAYOUT_DATA_DIR_H

#include "parser/fs/fs.h"
#include "layout/layout.h"

/* Reads <path>/current/VERSION and the names of the block pools.  0 and *ret (free with
 * layout_data_dir_clear()), or negative errno with *ret_reason (static): -ENOENT no such
 * directory, -EINVAL not a datanode's, -ENODATA not written out yet, -EIO, -ENOMEM. */
int data_dir_read(struct fs *fs, struct fs_view *view, const char *path,
		  struct layout_data_dir *ret, const char **ret_reason);

#endif
