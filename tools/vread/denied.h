/* SPDX-License-Identifier: GPL-2.0-or-later */
/* denied.h - who may use /dev/vread or a socket of the local port, and what to do for a user who
 * may not.  Called by connect.c and by `vread doctor`. */
#ifndef VREAD_DENIED_H
#define VREAD_DENIED_H

#include <sys/stat.h>

#define DENIED_TEXT 512

/*
 * Writes what the node's mode and group say, and the remedy for the user.  st: of node; NULL: it
 * cannot be looked at.
 */
void denied_text(const char *node, const struct stat *st, const char *user, char found[DENIED_TEXT],
		 char remedy[DENIED_TEXT]);

#endif
