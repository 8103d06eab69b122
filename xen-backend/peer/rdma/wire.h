/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/wire.h - the messages that pass over a queue pair, as bytes.  asker.c, answerer.c and
 * transport.c call it.
 *
 *   READ    as in message.h, then u64 address, u32 key, u32 slot, little-endian
 *   FAILED  as in message.h
 *   DATA    as in message.h, without bytes: there are none to be read
 *   word    the immediate value of the last write of a READ's bytes: slot << 22 | bytes - 1
 *
 * The asker numbers its slots.  A slot is free until a READ takes it, and again when the READ
 * is answered.  All functions are pure.  They check what the other host sends.
 */
#ifndef VREAD_PEER_RDMA_WIRE_H
#define VREAD_PEER_RDMA_WIRE_H

#include "peer/wire/message.h"

#define RDMA_TARGET_BYTES 16U
#define RDMA_READ_BODY 16U
/* Length of the longest message. */
#define RDMA_MESSAGE_BYTES (MESSAGE_HEADER + RDMA_READ_BODY + RDMA_TARGET_BYTES)

#define RDMA_LENGTH_BITS 22U
_Static_assert(VREAD_MAX_READ == 1U << RDMA_LENGTH_BITS, "any READ's length fits into a word");
_Static_assert(MESSAGE_MAX_CREDITS == 1U << (32U - RDMA_LENGTH_BITS), "and any slot");

/* The address that the bytes of a READ are written to. */
struct rdma_target {
	uint64_t address;
	uint32_t key;
	uint32_t slot;
};

/* message: a READ as message.h encodes it.  out: room for RDMA_MESSAGE_BYTES.  Returns the
 * length of what was written to out. */
size_t rdma_put_read(uint8_t *out, const uint8_t *message, const struct rdma_target *target);
/* 0 or -EPROTO.  *ret_target is set only for a READ. */
int rdma_get_message(const uint8_t *data, size_t length, struct message_header *ret,
		     struct rdma_target *ret_target);

/* length: 1 .. VREAD_MAX_READ.  slot: below MESSAGE_MAX_CREDITS. */
uint32_t rdma_word(uint32_t slot, uint32_t length);
void rdma_get_word(uint32_t word, uint32_t *ret_slot, uint32_t *ret_length);

#endif
