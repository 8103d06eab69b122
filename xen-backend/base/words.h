/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words.h - looks for a word in a list of words. Called by control/ for storages, by policy/ for
 * datanodes and pools, by port/local for user ids, and by xl-vread for data directories.
 *
 * A list is a text. One or more spaces separate its words; no other character does. Spaces before
 * the first word and after the last do not count. The empty text is a list without words.
 */
#ifndef VREAD_BASE_WORDS_H
#define VREAD_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if one of the list's words equals the `length` bytes at `word`, which need no '\0' behind
 * them. Upper and lower case differ, and '*' is a byte like any other. The empty word (`length` is
 * 0) is in no list, and neither is a word with a space.
 */
bool words_have(const char *list, const char *word, size_t length);

#endif
