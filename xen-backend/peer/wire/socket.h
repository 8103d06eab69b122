/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket.h - TCP options of connections between two hosts.
 *
 * Called by peer/asking/connect.c and by peer/answering/conn.c, for each connection.
 */
#ifndef VREAD_PEER_SOCKET_H
#define VREAD_PEER_SOCKET_H

/* Turns TCP_NODELAY on, so that the kernel does not hold requests back.  The connection breaks if
 * the other host does not answer keep-alive packets, or does not acknowledge sent data within
 * timeout ms. */
void socket_set_options(int fd, unsigned timeout);
/* Makes close() drop the bytes that the other host has not taken.  Otherwise the kernel would keep
 * them for up to the timeout. */
void socket_drop_unsent(int fd);

#endif
