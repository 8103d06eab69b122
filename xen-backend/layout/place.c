// SPDX-License-Identifier: GPL-2.0-or-later
/* From a layout's numbers to a volume; see place.h. */
#include "layout/place.h"

#include <errno.h>

int layout_volume(struct image *const *images, const struct layout_filesystem *lfs,
		  struct volume **ret)
{
	int r = volume_new_range(images[lfs->image], lfs->offset, lfs->length, ret);

	return r == -ENOMEM || r == 0 ? r : -EIO;
}
