/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * token.h - HDFS block access tokens: a client that has a token for a block may read the block.
 * key-agent/answer.c judges tokens, and parses the keys that a datanode sends.
 *
 * A NameNode hands out tokens, signed with a key that it shares with its datanodes.  A token comes
 * as Hadoop's Token.write() writes it: identifier, password (an HMAC of the identifier), kind,
 * service.  An identifier has one of two encodings; its first byte tells which, as in Hadoop.
 *
 * All functions are pure functions.  A token comes from a guest: parsed values are within bounds,
 * and count only once the password is right.
 */
#ifndef VREAD_KEY_AGENT_TOKEN_H
#define VREAD_KEY_AGENT_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/key_agent_protocol.h"

struct block_token {
	const uint8_t *identifier; /* points into the parsed bytes, as password does */
	size_t identifier_length;
	const uint8_t *password;
	size_t password_length;
	int64_t expiry; /* ms since 1970 */
	int32_t key_id;
	int64_t block_id;
	char pool_id[VREAD_MAX_POOL_ID + 1];
	bool may_read;
};

/* A key that signs tokens. */
struct token_key {
	int32_t id;
	uint8_t algorithm; /* VREAD_KEY_* */
	uint8_t length;    /* 1 .. VREAD_MAX_KEY */
	int64_t expiry;    /* ms since 1970 */
	uint8_t bytes[VREAD_MAX_KEY];
	uint64_t number; /* as in struct key_agent_answer; 0 from token_parse_keys() */
};

struct token_keys {
	unsigned count;
	struct token_key key[VREAD_MAX_KEYS];
};

/* Parses a token of length bytes.  Returns 0 or -EINVAL; *ret is only valid with 0. */
int token_parse(const void *raw, size_t length, struct block_token *ret);
/* Parses the keys of a KEYS request, which follow the storage id.  Returns 0 or -EINVAL.  *ret may
 * hold keys in both cases, and no other memory does: the caller wipes *ret. */
int token_parse_keys(const void *raw, size_t length, struct token_keys *ret);

/* Returns the key of that id, or NULL. */
const struct token_key *token_find_key(const struct token_keys *keys, int32_t id);

/* Judges whether the token lets the block be read at now (ms since 1970).  keys are the keys of the
 * pool.  length 0: there is no token. */
enum token_verdict token_judge(const void *raw, size_t length, const struct token_keys *keys,
			       const char *pool_id, int64_t block_id, int64_t now);

#endif
