// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes block tokens and a datanode's keys: token_parse(), token_judge(), token_parse_keys().  The
 * fuzzer cannot guess a valid token for a given block.  So token_judge() is asked about the pool,
 * the block and the time that the parsed token names.
 */
#include <string.h>

#include "fuzz.h"
#include "key-agent/token.h"

static const struct token_keys known = {
	.count = 1,
	.key = {{
		.id = 1234567,
		.algorithm = VREAD_KEY_HMAC_SHA1,
		.length = 8,
		.expiry = INT64_MAX,
		.bytes = "eightbyt",
	}},
};

static bool within(const uint8_t *at, size_t length, const uint8_t *raw, size_t size)
{
	return length > 0 && at >= raw && length <= size && at <= raw + size - length;
}

static void parse_token(const uint8_t *raw, size_t size)
{
	struct block_token t;
	enum token_verdict v;

	if (token_parse(raw, size, &t) < 0) {
		v = token_judge(raw, size, &known, "BP-1", 1, 0);
		check(v == (size ? TOKEN_MALFORMED : TOKEN_MISSING));
		return;
	}
	check(size <= VREAD_MAX_TOKEN);
	check(within(t.identifier, t.identifier_length, raw, size));
	check(within(t.password, t.password_length, raw, size));
	check(t.pool_id[0] && strlen(t.pool_id) <= VREAD_MAX_POOL_ID);
	v = token_judge(raw, size, &known, t.pool_id, t.block_id, t.expiry);
	check(v == TOKEN_VALID || v == TOKEN_UNKNOWN_KEY || v == TOKEN_FORGED ||
	      v == TOKEN_NOT_FOR_READING);
	check(v == TOKEN_UNKNOWN_KEY || t.key_id == known.key[0].id);
	check(v != TOKEN_VALID || t.may_read);
}

static void parse_keys(const uint8_t *raw, size_t size)
{
	static struct token_keys keys;

	if (token_parse_keys(raw, size, &keys) < 0)
		return;
	check(keys.count <= VREAD_MAX_KEYS);
	for (unsigned i = 0; i < keys.count; i++)
		check(keys.key[i].length > 0 && keys.key[i].length <= VREAD_MAX_KEY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw = bytes_of(data, size);

	parse_token(raw, size);
	parse_keys(raw, size);
	free(raw);
	return 0;
}
