// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * address.c - parses and prints IP:PORT and [IP]:PORT.
 *
 * Called by peer/, control/config/values.c and tools/vread (address.h).
 */
#include "peer/wire/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

static bool parse_ip(const char *ip, bool brackets, uint16_t port, struct address *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->socket;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->socket;

	*ret = (struct address){0};
	if (brackets) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		ret->length = sizeof(*v6);
		return inet_pton(AF_INET6, ip, &v6->sin6_addr) == 1;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	ret->length = sizeof(*v4);
	return inet_pton(AF_INET, ip, &v4->sin_addr) == 1;
}

bool address_parse(const char *text, struct address *ret)
{
	const char *colon = strrchr(text, ':');
	bool brackets = text[0] == '[';
	char ip[ADDRESS_TEXT];
	size_t length;
	uint32_t port;

	if (!colon || !parse_number(colon + 1, 1, 65535, &port))
		return false;
	length = (size_t)(colon - text);
	if (brackets) {
		if (length < 2 || text[length - 1] != ']')
			return false;
		text++;
		length -= 2;
	}
	if (length >= sizeof(ip))
		return false;
	memcpy(ip, text, length);
	ip[length] = '\0';
	return parse_ip(ip, brackets, (uint16_t)port, ret);
}

static uint64_t number_of(const uint8_t *bytes, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++)
		number = number << 8 | bytes[i];
	return number;
}

uint64_t address_source(const struct address *a)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->socket;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->socket;
	const uint8_t *bytes = v6->sin6_addr.s6_addr;

	if (a->socket.ss_family == AF_INET)
		return 0xffffULL << 32 | number_of((const uint8_t *)&v4->sin_addr, 4);
	if (a->socket.ss_family != AF_INET6)
		return 0;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return 0xffffULL << 32 | number_of(bytes + 12, 4);
	return number_of(bytes, 8);
}

const char *address_text(const struct address *a, char *text)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->socket;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->socket;
	char ip[INET6_ADDRSTRLEN] = "?";

	if (a->socket.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", ip, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
		snprintf(text, ADDRESS_TEXT, "%s:%u", ip, ntohs(v4->sin_port));
	}
	return text;
}
