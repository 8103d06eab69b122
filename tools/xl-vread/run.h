/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h - another program, found in PATH, run to its end with our own descriptors. */
#ifndef XL_VREAD_RUN_H
#define XL_VREAD_RUN_H

/* argv: NULL-terminated, the program's name first.  Its exit code, or negative errno if it could not
 * be run or was killed. */
int run_program(const char *const *argv);

#endif
