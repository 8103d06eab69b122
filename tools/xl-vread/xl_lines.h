/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl_lines.h - reads the tables that xl prints, line by line, and has xl make changes.  Called by
 * cpupools.c, turbo.c and turbo_state.c. */
#ifndef XL_VREAD_XL_LINES_H
#define XL_VREAD_XL_LINES_H

#include <stdbool.h>

/* Takes a line without its newline; may write into it.  False: the line is not as expected. */
typedef bool xl_take(char *line, void *data);

/* Runs `command` by sh, and calls take() for each line after the first `heading` lines.  Because of
 * sh, `command` must not contain names that others chose.  CLI_OK, or an exit code of cli.h after
 * printing what is wrong.  xl's own errors go to stderr. */
int xl_lines(const char *command, unsigned heading, xl_take take, void *data);

/* As xl_run(), but returns CLI_OK, or an exit code of cli.h after printing what is wrong. */
int xl_must(const char *const *argv);

/* Cuts off the last word of the line, with the blanks before it, and returns the word.  A name at
 * the front of the line may contain blanks.  NULL: the line has only one word. */
char *xl_last_word(char *line);
/* The same for a number up to max.  False: the word is no such number. */
bool xl_last_number(char *line, unsigned max, unsigned *ret);

#endif
