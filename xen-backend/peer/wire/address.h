/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * address.h - parses and prints IP:PORT and [IP]:PORT.
 *
 * Called by peer/, by the configuration (control/config/values.c) and by `xl-vread doctor`.
 *
 * Only numeric addresses are accepted.  A name would need a name server, and no read may wait for
 * one.
 */
#ifndef VREAD_PEER_ADDRESS_H
#define VREAD_PEER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 64U

struct address {
	struct sockaddr_storage socket;
	socklen_t length;
};

/* False: text is not an address, or the port is 0. */
bool address_parse(const char *text, struct address *ret);
/* A number for the place that connections of this address come from: the IPv4 address, or the first
 * 64 bits of the IPv6 address, because a host may choose the other bits.  0: unknown. */
uint64_t address_source(const struct address *a);
/* text: a buffer of ADDRESS_TEXT bytes.  Returns text. */
const char *address_text(const struct address *a, char *text);

#endif
