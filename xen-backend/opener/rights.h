/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights.h - leaves the opener CAP_DAC_READ_SEARCH and the system calls that it needs.  main.c
 * calls it before the first request is read.
 */
#ifndef VREAD_OPENER_RIGHTS_H
#define VREAD_OPENER_RIGHTS_H

/* Gives up all other capabilities and lowers limits.  The process ends with vreadd, which made
 * channel.  Returns 0, or negative errno with *ret_what (static string), as the next one does. */
int rights_drop(int channel, const char **ret_what);
/* Restricts the system calls of all threads.  writable: the only descriptor that write() takes, for
 * requests to xenstored; -1: none. */
int rights_restrict(int writable, const char **ret_what);

#endif
