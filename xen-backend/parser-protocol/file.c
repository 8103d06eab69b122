// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files as extents of a volume. The readers of parser/fs/ and vreadd's checks of answers build
 * them; both sides read through them. file.h describes the functions.
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

void fs_file_measure(struct fs_file *f)
{
	uint64_t end = f->content ? f->size : 0;

	for (unsigned i = 0; i < f->num_extents && f->extents[i].logical == end; i++)
		end += f->extents[i].length;
	f->mapped = end < f->size ? end : f->size;
}

void fs_file_clear(struct fs_file *f)
{
	free(f->extents);
	free(f->content);
	memset(f, 0, sizeof(*f));
}

/* Returns the index of the extent that holds `offset`, which must be below f->mapped. */
static unsigned find_extent(const struct fs_file *f, uint64_t offset)
{
	unsigned low = 0, high = f->num_extents;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (f->extents[middle].logical <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int fs_file_read_at(struct volume *volume, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length)
{
	uint8_t *to = buf;

	if (offset > f->mapped || length > f->mapped - offset)
		return -ENODATA;
	if (length == 0)
		return 0;
	if (f->content) {
		memcpy(buf, f->content + offset, length);
		return 0;
	}
	for (unsigned i = find_extent(f, offset); length > 0; i++) {
		const struct fs_extent *e = &f->extents[i];
		uint64_t skip = offset - e->logical;
		size_t n = length < e->length - skip ? length : (size_t)(e->length - skip);
		int r = volume_read(volume, e->physical + skip, to, n);

		if (r < 0)
			return r;
		to += n;
		offset += n;
		length -= n;
	}
	return 0;
}

uint64_t fs_file_place(const struct fs_file *f, uint64_t offset)
{
	const struct fs_extent *e = &f->extents[find_extent(f, offset)];

	return e->physical + (offset - e->logical);
}
