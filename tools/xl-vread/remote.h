/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h - the messages between `xl-vread migrate` and `xl-vread receive`, its other end, over
 * ssh or the command used instead.  Used by migrate.c and receive.c.
 *
 *   migrate: UUID, name, one line for each device as in a record, an empty line
 *   receive: READY, when the record is written
 *   migrate: MOVED, when xl has moved the domain; the domain is paused
 *   receive: EQUIPPED, when the domain has its devices
 *   migrate: GO, when the domain no longer exists on the old host
 *   receive: DONE, when the domain runs
 *
 * Each message is a line.  On an error receive prints the error to its standard error, and ends.
 */
#ifndef XL_VREAD_REMOTE_H
#define XL_VREAD_REMOTE_H

#define REMOTE_READY "ready\n"
#define REMOTE_MOVED "moved\n"
#define REMOTE_EQUIPPED "equipped\n"
#define REMOTE_GO "go\n"
#define REMOTE_DONE "done\n"

#endif
