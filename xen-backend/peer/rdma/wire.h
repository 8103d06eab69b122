/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/wire.h - the messages that pass over a queue pair, as bytes.  asker.c, answerer.c and
 * transport.c call it.
 *
 *   READ    as in message.h, then u64 address, u32 key, u32 slot, little-endian
 *   FAILED  as in message.h
 *   DATA    the header as in message.h, with length 4, then u32: how many bytes were written
 *
 * A DATA follows the last write of a READ's bytes on the queue pair.  So the bytes have landed when
 * it arrives.  The asker numbers its slots.  A slot is free until a READ takes it, and again when
 * the READ is answered.  All functions are pure.  They check what the other host sends.
 */
#ifndef VREAD_PEER_RDMA_WIRE_H
#define VREAD_PEER_RDMA_WIRE_H

#include "peer/wire/message.h"

#define RDMA_TARGET_BYTES 16U
#define RDMA_READ_BODY 16U
/* Length of the longest message. */
#define RDMA_MESSAGE_BYTES (MESSAGE_HEADER + RDMA_READ_BODY + RDMA_TARGET_BYTES)

#define RDMA_DATA_BODY 4U
#define RDMA_FAILED_BODY 4U
/* The address that the bytes of a READ are written to. */
struct rdma_target {
	uint64_t address;
	uint32_t key;
	uint32_t slot;
};

/* message: a READ as message.h encodes it.  out: room for RDMA_MESSAGE_BYTES.  Returns the
 * length of what was written to out. */
size_t rdma_put_read(uint8_t *out, const uint8_t *message, const struct rdma_target *target);
/* written: the bytes that the READ's writes carried, at most VREAD_MAX_READ.  crc32c: of these
 * bytes.  Returns as rdma_put_read() does. */
size_t rdma_put_data(uint8_t *out, uint64_t id, uint32_t written, uint32_t crc32c);
/* 0 or -EPROTO.  *ret_target is set only for a READ.  ret->length of a DATA: the bytes written. */
int rdma_get_message(const uint8_t *data, size_t length, struct message_header *ret,
		     struct rdma_target *ret_target);

#endif
