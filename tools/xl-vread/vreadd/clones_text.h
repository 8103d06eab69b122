/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clones_text.h - two datanodes that look like clones of one cluster, in words: for `xl-vread
 * status` and `xl-vread doctor`. */
#ifndef XL_VREAD_CLONES_TEXT_H
#define XL_VREAD_CLONES_TEXT_H

#include <jansson.h>

#define CLONES_TEXT 512

/* entry: one of "clones" in the status document.  Returns text. */
const char *clones_text(const json_t *entry, char text[CLONES_TEXT]);

#endif
