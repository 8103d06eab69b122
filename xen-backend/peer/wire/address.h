/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * address.h - IP:PORT and [IP]:PORT, out of text and into it.
 *
 * Numbers only: a name would have to be looked up, and no read may wait for a name server.
 */
#ifndef VREAD_PEER_ADDRESS_H
#define VREAD_PEER_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 64U

struct address {
	struct sockaddr_storage socket;
	socklen_t length;
};

/* Port 0 is none. */
bool address_parse(const char *text, struct address *ret);
/* text: ADDRESS_TEXT bytes.  Returns it. */
const char *address_text(const struct address *a, char *text);

#endif
