/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/wire.h - what passes over a queue pair, as bytes.
 *
 *   READ    message.h's, then u64 address, u32 key, u32 slot, little-endian
 *   FAILED  message.h's
 *   DATA    message.h's, with no bytes: there are none to be read
 *   word    the immediate value of the last write of a READ's bytes: slot << 22 | bytes - 1
 *
 * A slot is one of the asker's, and free until the READ in it is answered.  Pure functions; the other
 * host is not believed.
 */
#ifndef VREAD_PEER_RDMA_WIRE_H
#define VREAD_PEER_RDMA_WIRE_H

#include "peer/wire/message.h"

#define RDMA_TARGET_BYTES 16U
#define RDMA_READ_BODY 16U
/* Of the longest message. */
#define RDMA_MESSAGE_BYTES (MESSAGE_HEADER + RDMA_READ_BODY + RDMA_TARGET_BYTES)

#define RDMA_LENGTH_BITS 22U
_Static_assert(VREAD_MAX_READ == 1U << RDMA_LENGTH_BITS, "any READ's length fits into a word");
_Static_assert(MESSAGE_MAX_CREDITS == 1U << (32U - RDMA_LENGTH_BITS), "and any slot");

/* Where the bytes of a READ go. */
struct rdma_target {
	uint64_t address;
	uint32_t key;
	uint32_t slot;
};

/* message: a READ as message.h encodes it; out: RDMA_MESSAGE_BYTES of room.  Its length. */
size_t rdma_put_read(uint8_t *out, const uint8_t *message, const struct rdma_target *target);
/* 0 or -EPROTO; *ret_target is set for READs only. */
int rdma_get_message(const uint8_t *data, size_t length, struct message_header *ret,
		     struct rdma_target *ret_target);

/* length: 1 .. VREAD_MAX_READ. */
uint32_t rdma_word(uint32_t slot, uint32_t length);
void rdma_get_word(uint32_t word, uint32_t *ret_slot, uint32_t *ret_length);

#endif
