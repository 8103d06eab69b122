// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements file_runs.h: maps a file's extents through the volume and the image to files of this
 * host. ahead.c and ahead_direct.c call it.
 */
#include "read/file_runs.h"

static bool each_image_run(struct image *img, uint64_t offset, uint64_t length, file_run_fn *fn,
			   void *ctx)
{
	while (length > 0) {
		struct image_run run;

		if (image_map(img, offset, length, &run) < 0)
			return false;
		if (!fn(&run, ctx))
			return false;
		offset += run.length;
		length -= run.length;
	}
	return true;
}

static bool each_volume_run(struct volume *v, uint64_t offset, uint64_t length, file_run_fn *fn,
			    void *ctx)
{
	while (length > 0) {
		struct volume_stripe at;
		uint64_t n;

		volume_locate(v, offset, length, &at, &n);
		if (!each_image_run(at.image, at.offset, n, fn, ctx))
			return false;
		offset += n;
		length -= n;
	}
	return true;
}

bool file_runs(struct volume *volume, const struct fs_file *f, uint64_t offset, uint64_t end,
	       file_run_fn *fn, void *ctx)
{
	while (!f->content && offset < end) {
		struct fs_extent piece = fs_file_piece(f, offset, end);
		struct image_run zeros = {.length = piece.length};

		if (piece.physical == FS_HOLE
			    ? !fn(&zeros, ctx)
			    : !each_volume_run(volume, piece.physical, piece.length, fn, ctx))
			return false;
		offset += piece.length;
	}
	return true;
}

static bool take_source(const struct image_run *run, void *ctx)
{
	*(struct source **)ctx = run->source; /* NULL: zeros */
	return false;
}

struct source *file_runs_source(struct volume *volume, const struct fs_file *f, uint64_t offset)
{
	struct source *source = NULL;

	file_runs(volume, f, offset, offset + 1, take_source, &source);
	return source;
}
