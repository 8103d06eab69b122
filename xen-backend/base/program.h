/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - finds a program that vreadd starts.  datanode/process.c and control/privileges.c call
 * it.
 */
#ifndef VREAD_BASE_PROGRAM_H
#define VREAD_BASE_PROGRAM_H

/* Returns the path of the program (free() it): the one beside the running program, or else the
 * installed one.  NULL: out of memory. */
char *program_find(const char *name);

#endif
