/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_runs.h - in which places of this host's files a guest's file lies.
 *
 * For asking the disk for it beforehand: it is where the bytes were when it
 * was looked, which is no promise.
 */
#ifndef VREAD_READ_FILE_RUNS_H
#define VREAD_READ_FILE_RUNS_H

#include "parser-protocol/file.h"

/* One of them; source is NULL where the image says zeros.  False ends it. */
typedef bool file_run_fn(const struct image_run *run, void *ctx);

/* Calls fn for each place of [offset, end) of f that lies in extents, in order; false: fn said so,
 * or a place is not to be had. */
bool file_runs(struct volume *volume, const struct fs_file *f, uint64_t offset, uint64_t end,
	       file_run_fn *fn, void *ctx);
/* Which file of this host holds the byte at offset; NULL: none. */
struct source *file_runs_source(struct volume *volume, const struct fs_file *f, uint64_t offset);

#endif
