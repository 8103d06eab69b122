/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox.h - gives up everything a parser does not need. parser/main.c calls it at the start.
 *
 * The parser can still read the descriptors it was given, answer on its sockets, use memory, and
 * make files in memory for libblkid. It cannot open files, make files on disk, sockets or
 * processes, trace or signal other processes, or run another program. It has no root privileges,
 * and its memory is limited.
 */
#ifndef VREAD_PARSER_SANDBOX_H
#define VREAD_PARSER_SANDBOX_H

/* Changes the user, sets limits, and makes the process end with vreadd, which made `channel`. Call
 * it before threads are made. Returns 0, or negative errno with `*ret_what`, a static text. */
int sandbox_drop_rights(int channel, const char **ret_what);
/* Allows only some system calls from now on, in all existing threads; any other system call
 * kills the process. Returns as above. */
int sandbox_filter(const char **ret_what);

#endif
