// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The raw format: files, sparse or not, and block devices.  disk/image.c calls it through
 * image_raw.  Every byte is at its own offset.
 */
#include <stdio.h>

#include "disk/image_impl.h"

static int raw_open(struct image *img, char **ret_error)
{
	(void)ret_error;
	img->size = source_size(img->source);
	return 0;
}

static int raw_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	*ret = (struct image_run){img->source, offset, length};
	return 0;
}

const struct image_ops image_raw = {
	.open = raw_open,
	.map = raw_map,
};
