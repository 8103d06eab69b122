/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nearest.h - finds the word of a list that is most like a misspelt word, for "did you mean".
 *
 * Called by control/config/ for keys and sections, and by config_warn.c for datanodes' names.
 */
#ifndef VREAD_NEAREST_H
#define VREAD_NEAREST_H

#include <stddef.h>

/* The word of list with the smallest edit distance.  NULL if no word is near enough. */
const char *nearest_word(const char *word, const char *const *list, size_t count);

#endif
