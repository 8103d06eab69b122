/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine.h - leaves the opener CAP_DAC_READ_SEARCH and the system calls that it needs.  main.c
 * calls it before the first request is read.
 */
#ifndef VREAD_OPENER_CONFINE_H
#define VREAD_OPENER_CONFINE_H

/* Gives up all other capabilities and lowers limits.  The process ends with its parent.  Returns 0,
 * or negative errno with *ret_what (static string), as the next one does. */
int confine_rights(const char **ret_what);
/* Restricts the system calls of all threads. */
int confine_calls(const char **ret_what);

#endif
