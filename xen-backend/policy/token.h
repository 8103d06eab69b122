/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * token.h - HDFS block access tokens: who has one of a block may read it.
 *
 * A NameNode hands them out, signed with a key that it shares with its datanodes.  A token comes as
 * Hadoop's Token.write() writes it: identifier, password (an HMAC of the identifier), kind,
 * service; an identifier in either of two encodings, told apart by its first byte as Hadoop does.
 *
 * Every function is pure.  A token comes from a guest: what is parsed is within bounds, and counts
 * only once its password is right.
 */
#ifndef VREAD_POLICY_TOKEN_H
#define VREAD_POLICY_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct block_token {
	const uint8_t *identifier; /* into what was parsed */
	size_t identifier_length;
	const uint8_t *password;
	size_t password_length;
	int64_t expiry; /* ms since 1970 */
	int32_t key_id;
	int64_t block_id;
	char pool_id[VREAD_MAX_POOL_ID + 1];
	bool may_read;
};

/* What a token is signed with. */
struct token_key {
	int32_t id;
	uint8_t algorithm; /* VREAD_KEY_* */
	uint8_t length;    /* 1 .. VREAD_MAX_KEY */
	int64_t expiry;    /* ms since 1970 */
	uint8_t bytes[VREAD_MAX_KEY];
};

struct token_keys {
	unsigned count;
	struct token_key key[VREAD_MAX_KEYS];
};

/* 0 or -EINVAL; *ret is only good with 0. */
int token_parse(const void *raw, size_t length, struct block_token *ret);
/* As KEYS has them, behind the storage: 0 or -EINVAL. */
int token_parse_keys(const void *raw, size_t length, struct token_keys *ret);

/* How a token is judged; TOKEN_VALID is the only one that opens anything. */
enum token_verdict {
	TOKEN_VALID,
	TOKEN_MISSING,
	TOKEN_MALFORMED,
	TOKEN_UNKNOWN_KEY,
	TOKEN_FORGED,
	TOKEN_EXPIRED,
	TOKEN_OF_ANOTHER_BLOCK,
	TOKEN_NOT_FOR_READING,
	TOKEN_VERDICTS
};
const char *token_verdict_name(enum token_verdict v);

/* Whether it lets that block be read at now (ms since 1970).  keys: those of the pool.  length 0: there
 * is no token. */
enum token_verdict token_judge(const void *raw, size_t length, const struct token_keys *keys,
			       const char *pool_id, int64_t block_id, int64_t now);

#endif
