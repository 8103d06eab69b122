// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what another host sends over a queue pair: a word, and a message as peer/rdma/end.c passes
 * it on.  Decoded values must be within bounds, and be the same when they are encoded again.
 */
#include <string.h>

#include "fuzz.h"
#include "peer/rdma/wire.h"

static void take_word(uint32_t word)
{
	uint32_t slot, length;

	rdma_get_word(word, &slot, &length);
	check(slot < MESSAGE_MAX_CREDITS);
	check(length > 0 && length <= VREAD_MAX_READ);
	check(rdma_word(slot, length) == word);
}

static void take_read(const uint8_t *message, size_t length, const struct rdma_target *target)
{
	uint8_t again[RDMA_MESSAGE_BYTES];

	check(length == RDMA_MESSAGE_BYTES);
	check(rdma_put_read(again, message, target) == length);
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
	check(h.type == MESSAGE_FAILED || (h.type == MESSAGE_DATA && h.length == 0));
	check(length == MESSAGE_HEADER + h.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	uint8_t *message;

	take_word(take32(&in));
	message = bytes_of(in.at, in.left);
	take_message(message, in.left);
	free(message);
	return 0;
}
