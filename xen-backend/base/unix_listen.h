/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unix_listen.h - a listening UNIX socket at a path.  Called by control/control.c for the control
 * socket, by port/local for the local port, and by peer/answering to accept connections.
 */
#ifndef VREAD_UNIX_LISTEN_H
#define VREAD_UNIX_LISTEN_H

#include <sys/types.h>

/*
 * Listens at path.  type is SOCK_STREAM or SOCK_SEQPACKET.  mode is the mode of the socket file.
 * The folder of path must exist.  A socket file that nobody listens on any more is replaced;
 * -EADDRINUSE if somebody does.  Returns a descriptor (non-blocking, close-on-exec) or negative
 * errno (logged).
 */
int unix_listen(const char *path, int type, mode_t mode);

/*
 * Accepts one connection.  Returns its descriptor (non-blocking, close-on-exec), or -1.  If the
 * process is out of descriptors, the connection is accepted with the spare descriptor and closed at
 * once.  A connection that stayed in the queue would wake the event loop for ever.
 */
int unix_accept(int listener, int *spare_fd);
/* Returns a value for *spare_fd; close() it in the end. */
int unix_spare_fd(void);

#endif
