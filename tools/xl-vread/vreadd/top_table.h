/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_table.h - prints the tables of `xl-vread top`: rates, computed from two status documents, and
 * the plot of the last minute.  Called by top.c. */
#ifndef VREAD_TOP_TABLE_H
#define VREAD_TOP_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "top_plot.h"

/* The column by which devices are sorted: the largest value first, equal ones by name. */
enum top_sort {
	TOP_BY_BYTES, /* from here and from other hosts */
	TOP_BY_HERE,
	TOP_BY_REMOTE,
	TOP_BY_READS,
	TOP_BY_OPENS,
	TOP_BY_ERRORS,
	TOP_BY_OPEN,
	TOP_BY_NAME,
};
#define TOP_SORTS "bytes, here, remote, reads, opens, errors, open or name"

/* Finds the column of that name, one of TOP_SORTS.  False: there is none. */
bool top_sort_parse(const char *name, enum top_sort *ret);

struct top_view {
	/* before: the document of `seconds` ago.  NULL: rates are not known and are printed as
	 * "-". */
	const json_t *before, *now;
	double seconds;
	enum top_sort sort;
	const struct plot *plot; /* of all bytes given to readers */
	bool utf8;               /* the plot may have block characters */
};

/* Prints lines of at most 80 columns. */
void top_print(FILE *out, const struct top_view *view);

#endif
