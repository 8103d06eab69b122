/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_table.h - prints the tables of `xl-vread top`: rates, computed from two status documents.
 * Called by top.c. */
#ifndef VREAD_TOP_TABLE_H
#define VREAD_TOP_TABLE_H

#include <jansson.h>
#include <stdio.h>

/* Prints lines of at most 80 columns, the busiest device first.  before: the document of `seconds`
 * ago.  NULL: rates are not known and are printed as "-". */
void top_print(FILE *out, const json_t *before, const json_t *now, double seconds);

#endif
