/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_runs.h - finds the places in files of this host where a guest's file lies. ahead.c and
 * ahead_direct.c use the places for read-ahead.
 *
 * A place is where the bytes were when file_runs() looked. The bytes may have moved since.
 */
#ifndef VREAD_READ_FILE_RUNS_H
#define VREAD_READ_FILE_RUNS_H

#include "parser-protocol/file.h"

/* Called for one place. run->source is NULL in a hole of the file, and where the image holds zeros.
 * Return false to stop. */
typedef bool file_run_fn(const struct image_run *run, void *ctx);

/*
 * Calls fn, in order, for each place of [offset, end) of f; for none if the content of f lies in
 * metadata. False: fn returned false, or a place cannot be found.
 */
bool file_runs(struct volume *volume, const struct fs_file *f, uint64_t offset, uint64_t end,
	       file_run_fn *fn, void *ctx);
/* Returns the file of this host that holds the byte at offset. NULL: none. */
struct source *file_runs_source(struct volume *volume, const struct fs_file *f, uint64_t offset);

#endif
