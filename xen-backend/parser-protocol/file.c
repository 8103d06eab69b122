// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files as extents of a volume: builds and searches the list of extents. file.h describes the
 * functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser-protocol/file.h"

static bool grow(struct fs_file *f)
{
	unsigned capacity = f->num_extents ? 2 * f->num_extents : 4;
	struct fs_extent *e;

	/* The array is full at 0 extents and at each power of two from 4 on; only then it grows. */
	if (f->num_extents && (f->num_extents < 4 || (f->num_extents & (f->num_extents - 1))))
		return true;
	e = reallocarray(f->extents, capacity, sizeof(*e));
	if (!e)
		return false;
	f->extents = e;
	return true;
}

int fs_file_extend(struct fs_file *f, uint64_t volume_length, uint64_t logical, uint64_t physical,
		   uint64_t length)
{
	struct fs_extent *last = f->num_extents ? &f->extents[f->num_extents - 1] : NULL;
	uint64_t end;

	if (length == 0 || __builtin_add_overflow(logical, length, &end))
		return -EIO;
	if (physical > volume_length || length > volume_length - physical)
		return -EIO;
	if (last && logical < last->logical + last->length)
		return -EIO;
	if (last && logical == last->logical + last->length &&
	    physical == last->physical + last->length) {
		last->length += length;
		return 0;
	}
	if (f->num_extents == FS_MAX_EXTENTS)
		return -EIO;
	if (!grow(f))
		return -ENOMEM;
	f->extents[f->num_extents++] = (struct fs_extent){logical, physical, length};
	return 0;
}

void fs_file_clear(struct fs_file *f)
{
	free(f->extents);
	free(f->content);
	memset(f, 0, sizeof(*f));
}

/* Returns the index of the first extent that ends behind `offset`; f->num_extents if none does. */
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

struct fs_extent fs_file_piece(const struct fs_file *f, uint64_t offset, uint64_t end)
{
	unsigned i = first_extent(f, offset);
	const struct fs_extent *e = i < f->num_extents ? &f->extents[i] : NULL;
	uint64_t skip, length;

	if (!e || e->logical >= end)
		return (struct fs_extent){offset, FS_HOLE, end - offset};
	if (e->logical > offset)
		return (struct fs_extent){offset, FS_HOLE, e->logical - offset};
	skip = offset - e->logical;
	length = e->length - skip;
	return (struct fs_extent){offset, e->physical + skip,
				  length < end - offset ? length : end - offset};
}

uint64_t fs_file_first_hole(const struct fs_file *f, uint64_t start, uint64_t end)
{
	if (f->content)
		return end;
	for (unsigned i = first_extent(f, start); i < f->num_extents && start < end; i++) {
		if (f->extents[i].logical > start)
			return start;
		start = f->extents[i].logical + f->extents[i].length;
	}
	return start < end ? start : end;
}
