// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The raw format: files, sparse or not, and block devices.  disk/image.c calls it through
 * image_raw.  Every byte is at its own offset.
 *
 * A disk has whole sectors.  QEMU fills the last sector of a file with zeros, and makes the file
 * longer when its guest writes the sector.
 */
#include <stdio.h>

#include "disk/image_impl.h"

#define SECTOR 512U

static int raw_open(struct image *img, char **ret_error)
{
	(void)ret_error;
	img->size = (source_size(img->source) + SECTOR - 1) / SECTOR * SECTOR;
	return 0;
}

static int raw_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	uint64_t there = source_size(img->source);

	if (offset + length > there)
		there = source_size_now(img->source);
	*ret = (struct image_run){img->source, offset, length};
	if (offset >= there)
		*ret = (struct image_run){NULL, 0, length};
	else if (length > there - offset)
		ret->length = there - offset;
	return 0;
}

const struct image_ops image_raw = {
	.open = raw_open,
	.map = raw_map,
};
