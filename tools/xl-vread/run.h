/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h - runs another program, found in PATH, with our own descriptors, and waits for its end.
 * Called by xl.c and search.c. */
#ifndef XL_VREAD_RUN_H
#define XL_VREAD_RUN_H

/* argv: NULL-terminated, the program's name first.  Returns the exit code, or negative errno if the
 * program could not be run or was killed. */
int run_program(const char *const *argv);

#endif
