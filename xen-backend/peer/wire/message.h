/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h - encodes and decodes the messages between two vreadds.
 *
 * Called by the asking side (peer/ and peer/asking/), by the answering side (peer/answering/) and
 * by the transports (peer/wire/stream.c, peer/rdma/).
 *
 * The host that connected is the asker, the other host is the answerer.  First both send HELLO, and
 * the answerer sends STORAGES.  A message is a header and a body, little-endian:
 *
 *   header    u32 length of the body, u16 type, u16 flags, u64 id, u32 CRC32C: 0 but in DATA
 *   HELLO     u32 magic, u16 version, u16 transports, u32 credits, u32 0
 *   STORAGES  for each: u8 length, datanode's name, u8 length, storage's id; flag MORE:
 *             another STORAGES follows
 *   OPEN      i64 block id, u64 generation stamp, u64 visible length, u8 number of storages,
 *             u8 length, pool's id, for each storage u8 length, id, u16 length, block token
 *   OPENED    u32 handle, u32 flags (VREAD_BLOCK_*), u64 length, u64 generation stamp
 *   READ      u32 handle, u32 length, u64 offset; flag PLAIN: the bytes may come unencrypted
 *   DATA      the bytes; flag MORE: another DATA with the same id follows.  The CRC32C of a DATA
 *             without MORE is that of all bytes of the READ, as the answerer verified them.  Flag
 *             PLAIN: unencrypted, in a frame (plain.h); only after a READ with PLAIN
 *   STAT      u32 handle
 *   STATED    as OPENED
 *   CLOSE     u32 handle; has no answer
 *   FAILED    u32 errno: answers OPEN, READ and STAT
 *   CANCEL    empty body; the id of a request that nobody waits for any more
 *
 * An answer has the id of its request.  Credits are the number of OPENs, READs and STATs that may
 * be without an answer; the answerer sets them.  A CANCEL has no answer of its own: the request is
 * still answered once, either by FAILED at once or by an answer that is already on its way.
 *
 * The flag PLAIN is used only if the answerer's HELLO has one of the transports with frames, which
 * the asker has offered.  The answerer may still answer by TLS.
 *
 * An asker sends one HELLO, and at most one CANCEL for each request.  More end the connection.
 *
 * A STORAGES without MORE ends a list.  A list names all storages that the asker may read at the
 * answerer.  A storage that was in an earlier list and is not in this one is not there any more.
 * One list follows the answerer's HELLO, and a new list follows each change.
 *
 * All functions are pure.  Decoders do not trust the peer: decoded numbers and lengths are within
 * their bounds, names are printable and safe as parts of paths and log lines, and an errno is one
 * of those in vreadif.h.
 */
#ifndef VREAD_PEER_MESSAGE_H
#define VREAD_PEER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

#define MESSAGE_VERSION 1U
#define MESSAGE_HEADER 20U
#define MESSAGE_MAX_BODY \
	(VREAD_MAX_OPEN_DATA + 32U) /* of all types but DATA; holds any OPEN of a guest */
#define MESSAGE_MAX_DATA 1048576U   /* body of DATA */
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

#define MESSAGE_MORE 1U /* flags */
#define MESSAGE_PLAIN 2U

/* HELLO's transports: the asker sends all that it can use, the answerer sends the one to use. */
#define MESSAGE_TRANSPORT_TLS 1U
#define MESSAGE_TRANSPORT_RDMA 2U
#define MESSAGE_TRANSPORT_MAC 4U  /* TLS, and DATA in frames with a MAC */
#define MESSAGE_TRANSPORT_BARE 8U /* TLS, and DATA in frames without a MAC */
#define MESSAGE_TRANSPORT_FRAMES (MESSAGE_TRANSPORT_MAC | MESSAGE_TRANSPORT_BARE)

struct message_header {
	uint32_t length;
	uint16_t type;
	uint16_t flags;
	uint64_t id;
	uint32_t crc32c; /* of a DATA without MESSAGE_MORE: of all bytes of the READ; else 0 */
};

struct message_hello {
	uint16_t version;
	uint16_t transports;
	uint32_t credits; /* 0 in the asker's HELLO */
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
	char text[MESSAGE_MAX_BODY]; /* decoded: holds the names and the token */
};

struct message_read {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

struct message_block {
	uint32_t handle; /* 0 in STATED */
	uint32_t flags;
	uint64_t length;
	uint64_t genstamp;
};

/* ---- encoding: out has room for MESSAGE_MAX bytes; returns how many were written ---- */

size_t message_put_hello(uint8_t *out, const struct message_hello *m);
/* Encodes as many of *count storages as fit; *count becomes their number.  MESSAGE_MORE is set if
 * `more` is true or if some did not fit. */
size_t message_put_storages(uint8_t *out, const struct message_storage *m, size_t *count,
			    bool more);
/* Returns 0 if a name or the token is too long, if the number of storages is 0 or too large, or if
 * the message would be too long. */
size_t message_put_open(uint8_t *out, uint64_t id, const struct message_open *m);
size_t message_put_read(uint8_t *out, uint64_t id, const struct message_read *m);
/* type: MESSAGE_STAT or MESSAGE_CLOSE. */
size_t message_put_handle(uint8_t *out, enum message_type type, uint64_t id, uint32_t handle);
/* type: MESSAGE_OPENED or MESSAGE_STATED. */
size_t message_put_block(uint8_t *out, enum message_type type, uint64_t id,
			 const struct message_block *m);
size_t message_put_failed(uint8_t *out, uint64_t id, int error);
size_t message_put_cancel(uint8_t *out, uint64_t id);
/* Encodes only the header.  The caller sends length bytes of data behind it.  crc32c has no effect
 * if `more` is true. */
size_t message_put_data(uint8_t *out, uint64_t id, uint32_t length, bool more, uint32_t crc32c);
/* Sets the id in a message that is already encoded. */
void message_set_id(uint8_t *message, uint64_t id);
/* Sets the flag PLAIN in a READ or DATA that is already encoded. */
void message_set_plain(uint8_t *message);

/* ---- decoding: returns 0 or -EPROTO; *ret is valid only with 0 ---- */

/* raw: MESSAGE_HEADER bytes.  With 0 the type is known and its body may have that length. */
int message_get_header(const uint8_t *raw, struct message_header *ret);
int message_get_hello(const uint8_t *body, size_t length, struct message_hello *ret);
/* Decodes the next storage of a STORAGES and advances *at.  *at is 0 for the first storage, and
 * length after the last. */
int message_get_storage(const uint8_t *body, size_t length, size_t *at,
			struct message_storage *ret);
int message_get_open(const uint8_t *body, size_t length, struct message_open *ret);
int message_get_read(const uint8_t *body, size_t length, struct message_read *ret);
int message_get_handle(const uint8_t *body, size_t length, uint32_t *ret);
int message_get_block(const uint8_t *body, size_t length, struct message_block *ret);
/* *ret: the negative errno; -EIO if the peer sent an errno that no answer may have. */
int message_get_failed(const uint8_t *body, size_t length, int *ret);

#endif
