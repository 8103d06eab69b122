// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nearest.c - finds the word of a list that is most like a misspelt word.
 *
 * Called by control/config/ and config_warn.c.
 *
 * The measure is the edit distance (insert, delete, replace), computed with
 * one row of the usual table.  Words longer than the row are never near.
 */
#include "control/nearest.h"

#include <stdint.h>
#include <string.h>

#define MAX_WORD 63

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_WORD + 1], la = strlen(a), lb = strlen(b);

	if (la > MAX_WORD || lb > MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = min3(row[j] + 1, row[j - 1] + 1, replaced);
		}
	}
	return row[lb];
}

const char *nearest_word(const char *word, const char *const *list, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 2;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, list[i]);

		if (d < best_distance) {
			best = list[i];
			best_distance = d;
		}
	}
	return best;
}
