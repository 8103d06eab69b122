/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_dir.h - reads one data directory of a datanode from its file system.
 */
#ifndef VREAD_LAYOUT_DATA_DIR_H
#define VREAD_LAYOUT_DATA_DIR_H

#include "parser/fs/fs.h"
#include "layout/layout.h"

#define DATA_DIR_MAX_REASON 1024U

/* Reads <path>/current/VERSION and the names of the block pools. Symbolic links are followed
 * inside the file system; ret->path is the path without them. Returns 0 and `*ret`
 * (layout_data_dir_clear() it), or negative errno with `reason`: -ELOOP a
 * symbolic link leads to no directory of this file system, -ENOENT no such
 * directory, -EINVAL not a datanode's, -ENODATA not written out yet, -EAGAIN still in the file
 * system's journal or changing, -EBUSY in use in a way that cannot be followed, -EIO, -ENOMEM. */
int data_dir_read(struct fs *fs, struct fs_view *view, const char *path,
		  struct layout_data_dir *ret, char reason[DATA_DIR_MAX_REASON]);

#endif
