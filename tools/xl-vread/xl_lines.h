/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl_lines.h - the tables xl prints, line by line, and changes that xl is to make. */
#ifndef XL_VREAD_XL_LINES_H
#define XL_VREAD_XL_LINES_H

#include <stdbool.h>

/* Takes a line, without its end; may write into it.  False: it is not what was expected. */
typedef bool xl_take(char *line, void *data);

/* Has sh run `command`, so let no names be in it.  Gives take() each line behind the `heading` lines.
 * An exit code of cli.h, after printing what is wrong; what xl says itself goes to stderr. */
int xl_lines(const char *command, unsigned heading, xl_take take, void *data);

/* As xl_run(), but an exit code of cli.h, after printing what is wrong. */
int xl_must(const char *const *argv);

/* The line's last word, cut off with the blanks before it; names in front may have blanks in them.
 * NULL: there is none. */
char *xl_last_word(char *line);
/* The same as a number up to max; false if it is none. */
bool xl_last_number(char *line, unsigned max, unsigned *ret);

#endif
