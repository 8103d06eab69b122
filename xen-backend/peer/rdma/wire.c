// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/wire.c - encodes and decodes what passes over a queue pair: see rdma/wire.h.  asker.c,
 * answerer.c and transport.c call it.
 */
#include "peer/rdma/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

size_t rdma_put_read(uint8_t *out, const uint8_t *message, const struct rdma_target *target)
{
	const uint64_t address = htole64(target->address);
	const uint32_t rest[2] = {htole32(target->key), htole32(target->slot)};
	uint8_t *at = out + MESSAGE_HEADER + RDMA_READ_BODY;

	memcpy(out, message, MESSAGE_HEADER + RDMA_READ_BODY);
	memcpy(at, &address, sizeof(address));
	memcpy(at + sizeof(address), rest, sizeof(rest));
	return RDMA_MESSAGE_BYTES;
}

size_t rdma_put_data(uint8_t *out, uint64_t id, uint32_t written, uint32_t crc32c)
{
	size_t header = message_put_data(out, id, RDMA_DATA_BODY, false, crc32c);

	written = htole32(written);
	memcpy(out + header, &written, sizeof(written));
	return header + RDMA_DATA_BODY;
}

static void get_target(const uint8_t *at, struct rdma_target *ret)
{
	uint64_t address;
	uint32_t rest[2];

	memcpy(&address, at, sizeof(address));
	memcpy(rest, at + sizeof(address), sizeof(rest));
	ret->address = le64toh(address);
	ret->key = le32toh(rest[0]);
	ret->slot = le32toh(rest[1]);
}

/* Replaces the length of the body by the bytes written. */
static int get_data(const uint8_t *body, struct message_header *h)
{
	uint32_t written;

	memcpy(&written, body, sizeof(written));
	h->length = le32toh(written);
	return h->length > VREAD_MAX_READ || (h->crc32c && !h->length) ? -EPROTO : 0;
}

int rdma_get_message(const uint8_t *data, size_t length, struct message_header *ret,
		     struct rdma_target *ret_target)
{
	size_t target = 0;

	if (length < MESSAGE_HEADER || message_get_header(data, ret))
		return -EPROTO;
	if (ret->type == MESSAGE_READ && ret->length == RDMA_READ_BODY)
		target = RDMA_TARGET_BYTES;
	else if (ret->type != MESSAGE_FAILED &&
		 !(ret->type == MESSAGE_DATA && ret->length == RDMA_DATA_BODY))
		return -EPROTO;
	if (ret->flags || length != MESSAGE_HEADER + ret->length + target)
		return -EPROTO;
	if (target)
		get_target(data + MESSAGE_HEADER + ret->length, ret_target);
	return ret->type == MESSAGE_DATA ? get_data(data + MESSAGE_HEADER, ret) : 0;
}
