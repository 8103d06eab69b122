// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * socket.c - TCP options of connections between two hosts.
 *
 * Called by peer/asking/connect.c and peer/answering/conn.c.
 */
#include "peer/wire/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

void socket_set_options(int fd, unsigned timeout)
{
	int one = 1, seconds = 30;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

void socket_drop_unsent(int fd)
{
	const struct linger none = {.l_onoff = 1};
	int bytes = 0;

	if (ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}
