// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_plot.c - implements top_plot.h.
 *
 * Points come when they come, and columns are equally long.  So between two points the counter is
 * taken to grow evenly, and a column's rate is how much the counter grew between the two ends of
 * the column.
 */
#include "top_plot.h"

#include <string.h>

#define COLUMN_SECONDS ((double)PLOT_SECONDS / PLOT_COLUMNS)

#define LEVELS 8 /* the lowest is for a rate of 0 only */
static const char *const by_blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const by_ascii[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};

static void forget_first(struct plot *p)
{
	p->count--;
	memmove(p->points, p->points + 1, p->count * sizeof(p->points[0]));
}

void plot_add(struct plot *p, int64_t pid, double at, int64_t total)
{
	if (p->count && (p->pid != pid || p->points[p->count - 1].total > total))
		p->count = 0;
	/* The latest point before the minute is kept, because the first column begins after it. */
	while (p->count == PLOT_POINTS || (p->count > 1 && p->points[1].at <= at - PLOT_SECONDS))
		forget_first(p);
	p->pid = pid;
	p->points[p->count++] = (struct plot_point){.at = at, .total = total};
}

/* The counter at a time that is not before the first point and not after the last. */
static double total_at(const struct plot *p, double at)
{
	const struct plot_point *a = p->points, *b = a + 1;

	while (b < p->points + p->count - 1 && b->at < at)
		a = b++;
	return (double)a->total + (double)(b->total - a->total) * (at - a->at) / (b->at - a->at);
}

/* The rate of a column, 0 .. PLOT_COLUMNS - 1, or -1 if the first point is later. */
static double rate_of_column(const struct plot *p, unsigned column)
{
	double last = p->points[p->count - 1].at, first = p->points[0].at;
	double end = last - (PLOT_COLUMNS - 1 - column) * COLUMN_SECONDS;
	double begin = end - COLUMN_SECONDS;

	if (end <= first)
		return -1;
	if (begin < first)
		begin = first;
	return (total_at(p, end) - total_at(p, begin)) / (end - begin);
}

static unsigned level_of(double rate, double highest)
{
	double height = rate > 0 ? rate / highest * (LEVELS - 1) : 0;
	unsigned level = (unsigned)height;

	return level < height ? level + 1 : level;
}

double plot_print(FILE *out, const struct plot *p, bool utf8)
{
	const char *const *levels = utf8 ? by_blocks : by_ascii;
	double rates[PLOT_COLUMNS], highest = -1;

	for (unsigned i = 0; i < PLOT_COLUMNS; i++) {
		rates[i] = p->count > 1 ? rate_of_column(p, i) : -1;
		if (rates[i] > highest)
			highest = rates[i];
	}
	for (unsigned i = 0; i < PLOT_COLUMNS; i++)
		fputs(rates[i] < 0 ? " " : levels[level_of(rates[i], highest)], out);
	return highest;
}
