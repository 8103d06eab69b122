/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox.h - giving up everything a parser does not need.
 *
 * What is left: reading descriptors it was given, answering on its sockets, memory,
 * and files in memory for libblkid.  It cannot open or make files, sockets or processes,
 * trace or signal others, or run another program; it has no rights of root, and a
 * bound on memory.
 */
#ifndef VREAD_PARSER_SANDBOX_H
#define VREAD_PARSER_SANDBOX_H

/* Another user, limits, ends with its parent.  Before threads are made.  0, or negative errno
 * with *ret_what, a static text. */
int sandbox_drop_rights(const char **ret_what);
/* Only some system calls from now on, for all threads there are; another one kills the
 * process.  As above. */
int sandbox_filter(const char **ret_what);

#endif
