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

static unsigned first_extent(const struct fs_file *f, uint64_t offset)
{
	unsigned low = 0, high = f->num_extents;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (f->extents[middle].logical + f->extents[middle].length <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool file_runs(struct volume *volume, const struct fs_file *f, uint64_t offset, uint64_t end,
	       file_run_fn *fn, void *ctx)
{
	for (unsigned i = first_extent(f, offset); i < f->num_extents && offset < end; i++) {
		const struct fs_extent *e = &f->extents[i];
		uint64_t skip = offset > e->logical ? offset - e->logical : 0;
		uint64_t n = e->length - skip;

		if (e->logical + skip >= end)
			break;
		if (n > end - (e->logical + skip))
			n = end - (e->logical + skip);
		if (!each_volume_run(volume, e->physical + skip, n, fn, ctx))
			return false;
		offset = e->logical + skip + n;
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
