/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - helpers of the commands that print tables: members of a document that may be missing or
 * of another type, sizes for people, and lines that fit a terminal.  Called by the commands of
 * vread(1) and xl-vread(8), and by doctor/.
 */
#ifndef VREAD_CLI_TEXT_H
#define VREAD_CLI_TEXT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_WIDTH 80 /* columns */
#define TEXT_SIZE 16  /* bytes of a buffer for text_size() */

/* The member's string, else "-". */
const char *text_member(const json_t *object, const char *key);
/* The member's integer, else 0. */
int64_t text_number(const json_t *object, const char *key);
/* "517 B", "4.0 MiB": at most 8 characters; returns buf. */
const char *text_size(int64_t bytes, char buf[TEXT_SIZE]);
/* s, or if s is longer than room bytes: "..." and its last room - 3 bytes, in buf (room + 1 bytes).
 * The end of a path says more than its beginning. */
const char *text_tail(const char *s, size_t room, char *buf);
/* Prints s in lines of at most TEXT_WIDTH columns, all indented, broken at blanks if possible. */
void text_wrap(FILE *out, unsigned indent, const char *s);
/* The same; the first line begins with a label of less than indent characters. */
void text_wrap_after(FILE *out, unsigned indent, const char *label, const char *s);
/* How many of the n bytes of s fit into the columns.  A character of UTF-8 takes one column, and
 * all of its bytes but the first are 10xxxxxx; none is cut in two. */
size_t text_fitting(const char *s, size_t n, unsigned columns);
/* The sum of all counts in the member "errors". */
int64_t text_sum_errors(const json_t *counters);

#endif
