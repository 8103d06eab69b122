/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - where a file system of a layout lies: what can be told without
 * looking into an image.
 */
#ifndef VREAD_LAYOUT_PLACE_H
#define VREAD_LAYOUT_PLACE_H

#include "disk/volume.h"
#include "layout/layout.h"

/* -EIO: not inside its image. */
int layout_volume(struct image *const *images, const struct layout_filesystem *lfs,
		  struct volume **ret);

#endif
