/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nearest.h - "did you mean": the word of a list a typing error came from. */
#ifndef VREAD_NEAREST_H
#define VREAD_NEAREST_H

#include <stddef.h>

/* NULL if no word is near enough to be meant. */
const char *nearest_word(const char *word, const char *const *list, size_t count);

#endif
