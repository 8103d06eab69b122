/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h - what two vreadds say to each other, as bytes.
 *
 * Whoever connected asks, whoever accepted answers; first each says HELLO, and the one
 * who answers tells his STORAGES.  A message is a header and a body, little-endian:
 *
 *   header    u32 length of the body, u16 type, u16 flags, u64 id
 *   HELLO     u32 magic, u16 version, u16 transports, u32 credits, u32 0
 *   STORAGES  for each: u8 length, datanode's name, u8 length, storage's id; flag MORE:
 *             another such message follows
 *   OPEN      i64 block id, u64 generation stamp, u64 visible length, u8 number of storages,
 *             u8 length, pool's id, for each storage u8 length, id, u16 length, block token
 *   OPENED    u32 handle, u32 flags (VREAD_BLOCK_*), u64 length, u64 generation stamp
 *   READ      u32 handle, u32 length, u64 offset
 *   DATA      the bytes; flag MORE: another such message of the same id follows
 *   STAT      u32 handle
 *   STATED    as OPENED
 *   CLOSE     u32 handle; has no answer
 *   FAILED    u32 errno: answers OPEN, READ and STAT
 *   CANCEL    nothing; its id is that of a request whose answer nobody waits for any more
 *
 * An answer carries the id of what it answers.  Credits are how many OPENs, READs and STATs may
 * be without an answer; the one who answers sets them.  A CANCEL is no request: what was asked
 * before is answered once, by FAILED and at once, or by the answer that was on its way already.
 *
 * A STORAGES without MORE ends a list of all that the asker may read there: what it was told
 * before and is not in it, is there no more.  One list follows the answerer's HELLO, others whenever there
 * is a change.
 *
 * Every function here is pure.  A peer is not believed: what is decoded is within bounds, names
 * are printable and may become parts of paths and log lines, and an errno is one of vreadif.h's.
 */
#ifndef VREAD_PEER_MESSAGE_H
#define VREAD_PEER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

#define MESSAGE_VERSION 1U
#define MESSAGE_HEADER 16U
#define MESSAGE_MAX_BODY \
	(VREAD_MAX_OPEN_DATA + 32U) /* of any but DATA: all that fits an OPEN of a guest */
#define MESSAGE_MAX_DATA 1048576U   /* of DATA */
#define MESSAGE_MAX (MESSAGE_HEADER + MESSAGE_MAX_BODY)
#define MESSAGE_MAX_CREDITS 1024U
#define MESSAGE_MAX_DATANODE 63U

enum message_type {
	MESSAGE_HELLO = 1,
	MESSAGE_STORAGES,
	MESSAGE_OPEN,
	MESSAGE_OPENED,
	MESSAGE_READ,
	MESSAGE_DATA,
	MESSAGE_STAT,
	MESSAGE_STATED,
	MESSAGE_CLOSE,
	MESSAGE_FAILED,
	MESSAGE_CANCEL,
};

#define MESSAGE_MORE 1U /* flag */

/* HELLO's transports: those the asker can use, of which the other one answers with one. */
#define MESSAGE_TRANSPORT_TLS 1U
#define MESSAGE_TRANSPORT_RDMA 2U

struct message_header {
	uint32_t length;
	uint16_t type;
	uint16_t flags;
	uint64_t id;
};

struct message_hello {
	uint16_t version;
	uint16_t transports;
	uint32_t credits; /* an asker's: 0 */
};

struct message_storage {
	char datanode[MESSAGE_MAX_DATANODE + 1];
	char id[VREAD_MAX_STORAGE_ID + 1];
};

struct message_open {
	int64_t block_id;
	uint64_t genstamp;
	uint64_t visible_length;
	unsigned num_storages; /* at least one */
	const char *storage_ids[VREAD_MAX_STORAGES];
	const char *pool_id;
	const void *token;
	uint16_t token_length;       /* 0: none */
	char text[MESSAGE_MAX_BODY]; /* decoded: what the names and the token lie in */
};

struct message_read {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

struct message_block {
	uint32_t handle; /* STATED: 0 */
	uint32_t flags;
	uint64_t length;
	uint64_t genstamp;
};

/* ---- encoding: at out is room for MESSAGE_MAX bytes; how many were written ---- */

size_t message_put_hello(uint8_t *out, const struct message_hello *m);
/* As many as fit of count; *count becomes how many did. */
size_t message_put_storages(uint8_t *out, const struct message_storage *m, size_t *count,
			    bool more);
/* 0: a name or the token is too long, there are too many, or all together do not fit. */
size_t message_put_open(uint8_t *out, uint64_t id, const struct message_open *m);
size_t message_put_read(uint8_t *out, uint64_t id, const struct message_read *m);
/* STAT or CLOSE. */
size_t message_put_handle(uint8_t *out, enum message_type type, uint64_t id, uint32_t handle);
/* OPENED or STATED. */
size_t message_put_block(uint8_t *out, enum message_type type, uint64_t id,
			 const struct message_block *m);
size_t message_put_failed(uint8_t *out, uint64_t id, int error);
size_t message_put_cancel(uint8_t *out, uint64_t id);
/* Only the header: length bytes of data follow. */
size_t message_put_data(uint8_t *out, uint64_t id, uint32_t length, bool more);
/* In a message that is encoded already. */
void message_set_id(uint8_t *message, uint64_t id);

/* ---- decoding: 0 or -EPROTO; *ret is only good with 0 ---- */

/* raw: MESSAGE_HEADER bytes.  The type is known, and its body may have that length. */
int message_get_header(const uint8_t *raw, struct message_header *ret);
int message_get_hello(const uint8_t *body, size_t length, struct message_hello *ret);
/* The next of a STORAGES; *at starts at 0 and reaches length. */
int message_get_storage(const uint8_t *body, size_t length, size_t *at,
			struct message_storage *ret);
int message_get_open(const uint8_t *body, size_t length, struct message_open *ret);
int message_get_read(const uint8_t *body, size_t length, struct message_read *ret);
int message_get_handle(const uint8_t *body, size_t length, uint32_t *ret);
int message_get_block(const uint8_t *body, size_t length, struct message_block *ret);
/* *ret: negative, -EIO for what nobody should answer. */
int message_get_failed(const uint8_t *body, size_t length, int *ret);

#endif
