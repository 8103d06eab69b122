/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - makes the volume of a file system of a layout, without looking into an image.  Called
 * by datanode/load.c, vread-parser and vread-provision.
 */
#ifndef VREAD_LAYOUT_PLACE_H
#define VREAD_LAYOUT_PLACE_H

#include "disk/volume.h"
#include "layout/layout.h"

/* Makes the volume of lfs.  images is indexed by the layout's image numbers.  Returns 0, -ENOMEM,
 * or -EIO if lfs does not lie inside its images. */
int layout_volume(struct image *const *images, const struct layout_filesystem *lfs,
		  struct volume **ret);

#endif
