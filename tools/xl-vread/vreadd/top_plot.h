/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_plot.h - keeps a counter of the last minute, and plots its rate in one line of text.  top.c
 * adds a point at each round, and top_table.c prints the plot.
 */
#ifndef VREAD_TOP_PLOT_H
#define VREAD_TOP_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PLOT_SECONDS 60
#define PLOT_COLUMNS 30
#define PLOT_POINTS 640 /* a minute of rounds of 0.1 s, the shortest that top.c allows */

/* Zeroed: no points. */
struct plot {
	int64_t pid; /* whose counter this is */
	struct plot_point {
		double at;     /* monotonic seconds */
		int64_t total; /* the counter */
	} points[PLOT_POINTS];
	unsigned count;
};

/* Adds a point, which is later than all others.  Another process has another counter, and a counter
 * that shrank has started anew: then all earlier points are forgotten. */
void plot_add(struct plot *p, int64_t pid, double at, int64_t total);

/* Prints PLOT_COLUMNS characters: the rates of the last minute, the latest on the right, as heights
 * in relation to the highest rate.  A blank: not known.  utf8: by block characters, else by ASCII.
 * Returns the highest rate per second, or -1 if there are less than two points. */
double plot_print(FILE *out, const struct plot *p, bool utf8);

#endif
