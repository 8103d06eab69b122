/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse_place.h - parses the place of one file system of a layout; private to layout/parse*.c.
 * layout/parse.c calls it for each file system.
 */
#ifndef VREAD_LAYOUT_PARSE_PLACE_H
#define VREAD_LAYOUT_PARSE_PLACE_H

#include "layout/layout.h"
#include "layout/strict.h"

/* Parses the partition or the logical volume of object, which must lie on the layout's images, into
 * fs.  Checks all keys of object, too.  Returns as the functions of strict.h do. */
int layout_parse_place(struct strict *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs);

#endif
