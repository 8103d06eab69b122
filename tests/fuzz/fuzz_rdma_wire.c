// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what another host sends over a queue pair: a message as peer/rdma/end.c passes it on.
 * Decoded values must be within bounds, and be the same when they are encoded again.
 */
#include <string.h>

#include "fuzz.h"
#include "peer/rdma/wire.h"

static void take_read(const uint8_t *message, size_t length, const struct rdma_target *target)
{
	uint8_t again[RDMA_MESSAGE_BYTES];

	check(length == RDMA_MESSAGE_BYTES);
	check(rdma_put_read(again, message, target) == length);
	check(memcmp(again, message, length) == 0);
}

static void take_data(const uint8_t *message, size_t length, const struct message_header *h)
{
	uint8_t again[RDMA_MESSAGE_BYTES];

	check(h->length <= VREAD_MAX_READ);
	check(rdma_put_data(again, h->id, h->length, h->crc32c) == length);
	check(memcmp(again, message, length) == 0);
}

static void take_message(const uint8_t *message, size_t length)
{
	struct message_header h;
	struct rdma_target target;

	if (rdma_get_message(message, length, &h, &target))
		return;
	check(h.flags == 0);
	if (h.type == MESSAGE_READ) {
		take_read(message, length, &target);
		return;
	}
	if (h.type == MESSAGE_DATA) {
		take_data(message, length, &h);
		return;
	}
	check(h.type == MESSAGE_FAILED);
	check(length == MESSAGE_HEADER + h.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *message = bytes_of(data, size);

	take_message(message, size);
	free(message);
	return 0;
}
