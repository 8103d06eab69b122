// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the messages of another host: a stream of messages, as peer/wire/stream.c splits it, with
 * a decoder for each body.  Decoded values must be within bounds, and an OPEN must be the same
 * message when it is encoded again.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "peer/wire/message.h"

static void check_name(const char *name, size_t max)
{
	check(name[0] && strlen(name) <= max && !strchr(name, '/') && strcmp(name, ".."));
}

static void take_open(const uint8_t *body, size_t length)
{
	static struct message_open m;
	static uint8_t again[MESSAGE_MAX];

	if (message_get_open(body, length, &m))
		return;
	check_name(m.pool_id, VREAD_MAX_POOL_ID);
	check(m.num_storages > 0 && m.num_storages <= VREAD_MAX_STORAGES);
	for (unsigned i = 0; i < m.num_storages; i++)
		check_name(m.storage_ids[i], VREAD_MAX_STORAGE_ID);
	check(message_put_open(again, 1, &m) == MESSAGE_HEADER + length);
	check(memcmp(again + MESSAGE_HEADER, body, length) == 0);
}

static void take_storages(const uint8_t *body, size_t length)
{
	struct message_storage s;
	size_t at = 0, before;

	while (at < length) {
		before = at;
		if (message_get_storage(body, length, &at, &s))
			return;
		check(at > before && at <= length);
		check_name(s.datanode, MESSAGE_MAX_DATANODE);
		check_name(s.id, VREAD_MAX_STORAGE_ID);
	}
}

static void take_fixed(uint16_t type, const uint8_t *body, size_t length)
{
	struct message_hello hello;
	struct message_read read;
	struct message_block block;
	uint32_t handle;
	int error;

	if (type == MESSAGE_HELLO && message_get_hello(body, length, &hello) == 0)
		check(hello.credits <= MESSAGE_MAX_CREDITS);
	if (type == MESSAGE_READ && message_get_read(body, length, &read) == 0)
		check(read.length && read.length <= VREAD_MAX_READ &&
		      read.offset + read.length > read.offset);
	if (type == MESSAGE_OPENED || type == MESSAGE_STATED)
		if (message_get_block(body, length, &block) == 0)
			check(!(block.flags & VREAD_BLOCK_REMOTE));
	if (type == MESSAGE_FAILED && message_get_failed(body, length, &error) == 0)
		check(error < 0 && error != -ENOTCONN && error != -ECANCELED);
	if (type == MESSAGE_STAT || type == MESSAGE_CLOSE)
		check(message_get_handle(body, length, &handle) == 0);
}

static bool take_message(struct bytes *in)
{
	struct message_header h;
	uint8_t *body;

	if (in->left < MESSAGE_HEADER || message_get_header(in->at, &h))
		return false;
	check(h.length <= (h.type == MESSAGE_DATA ? MESSAGE_MAX_DATA : MESSAGE_MAX_BODY));
	check(!(h.flags & MESSAGE_PLAIN) || h.type == MESSAGE_READ || h.type == MESSAGE_DATA);
	in->at += MESSAGE_HEADER;
	in->left -= MESSAGE_HEADER;
	if (h.length > in->left)
		return false;
	body = bytes_of(in->at, h.length);
	if (h.type == MESSAGE_OPEN)
		take_open(body, h.length);
	else if (h.type == MESSAGE_STORAGES)
		take_storages(body, h.length);
	else if (h.type != MESSAGE_DATA)
		take_fixed(h.type, body, h.length);
	free(body);
	in->at += h.length;
	in->left -= h.length;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};

	while (take_message(&in))
		;
	return 0;
}
