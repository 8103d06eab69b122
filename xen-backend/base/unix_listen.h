/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unix_listen.h - a listening UNIX socket at a path. */
#ifndef VREAD_UNIX_LISTEN_H
#define VREAD_UNIX_LISTEN_H

#include <sys/types.h>

/*
 * type: SOCK_STREAM or SOCK_SEQPACKET.  A socket file nobody listens on any
 * more is replaced; -EADDRINUSE if somebody does.  The folder must exist.
 * Non-blocking, close-on-exec.  Returns the descriptor or negative errno (logged).
 */
int unix_listen(const char *path, int type, mode_t mode);

/*
 * Accepts one connection: its descriptor (non-blocking, close-on-exec), or -1.  Out of
 * descriptors, the connection is taken and closed at once, on a descriptor kept
 * spare for that: left waiting, it would wake an event loop for ever.
 */
int unix_accept(int listener, int *spare_fd);
/* A value for *spare_fd; close() it in the end. */
int unix_spare_fd(void);

#endif
