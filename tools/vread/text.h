/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - what commands that print tables share: members of documents that may be missing or
 * of another type, sizes for people, and lines that fit a terminal.
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
/* s, or "..." and its last room - 3 bytes, in buf (room + 1 bytes): a path's end tells more. */
const char *text_tail(const char *s, size_t room, char *buf);
/* Lines of TEXT_WIDTH columns at most, all indented, broken at blanks where there are some. */
void text_wrap(FILE *out, unsigned indent, const char *s);
/* The same, the first line behind a label of less than indent characters. */
void text_wrap_after(FILE *out, unsigned indent, const char *label, const char *s);
/* The sum of a document's "errors". */
int64_t text_sum_errors(const json_t *counters);

#endif
