/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse_place.h - where a layout says that a file system lies; private to layout/parse*.c.
 */
#ifndef VREAD_LAYOUT_PARSE_PLACE_H
#define VREAD_LAYOUT_PARSE_PLACE_H

#include "layout/layout.h"
#include "layout/strict.h"

/* A partition, or a logical volume, of the layout's images; keys are checked here, too. */
int layout_parse_place(struct strict *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs);

#endif
