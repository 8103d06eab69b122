/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_table.h - what `vread top` shows: rates, out of two status documents. */
#ifndef VREAD_TOP_TABLE_H
#define VREAD_TOP_TABLE_H

#include <jansson.h>
#include <stdio.h>

/* Prints lines of at most 80 columns, the busiest device first.  before: the document of so many
 * seconds ago, or NULL: then nothing is known of rates, which is shown as "-". */
void top_print(FILE *out, const json_t *before, const json_t *now, double seconds);

#endif
