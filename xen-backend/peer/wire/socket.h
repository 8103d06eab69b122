/* SPDX-License-Identifier: GPL-2.0-or-later */
/* socket.h - how TCP is set up between two hosts, whoever connected. */
#ifndef VREAD_PEER_SOCKET_H
#define VREAD_PEER_SOCKET_H

/* Requests are not held back; a host that has vanished is noticed: by keep-alive, and when what was
 * sent has not arrived within that many ms. */
void socket_set_options(int fd, unsigned timeout);

#endif
