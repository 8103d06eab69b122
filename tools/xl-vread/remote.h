/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h - what `xl-vread migrate` and `receive`, its other end, say to each other through ssh or
 * what stands for it.
 *
 *   migrate: UUID, name, a line for each device as in a record, an empty line
 *   receive: READY, once the record is written
 *   migrate: MOVED, when xl has moved the domain; it is paused
 *   receive: EQUIPPED, when it has its devices
 *   migrate: GO, when there is no such domain any more where it was
 *   receive: DONE, when it runs
 *
 * Each is a line.  What is wrong receive says on its standard error, and ends.
 */
#ifndef XL_VREAD_REMOTE_H
#define XL_VREAD_REMOTE_H

#define REMOTE_READY "ready\n"
#define REMOTE_MOVED "moved\n"
#define REMOTE_EQUIPPED "equipped\n"
#define REMOTE_GO "go\n"
#define REMOTE_DONE "done\n"

#endif
