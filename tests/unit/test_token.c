/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests block tokens.  Tokens that Hadoop 3.4.3 wrote (BlockTokenIdentifier, Token.write()) in both
 * encodings are accepted; altered and malformed tokens are refused.  Also tests a datanode's keys.
 */
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "own_agent.h"

#define POOL "BP-1-127.0.0.1-1700000000000"
#define BLOCK INT64_C(1073741825)
#define STRIPED INT64_C(-9223372036854775792)
#define EXPIRY INT64_C(1800000000000)
#define KEY_ID 1234567
#define STRIPED_KEY_ID (-77)
#define NOW (EXPIRY - 1000)
#define SECRET "eightbyt"

struct vector {
	uint8_t algorithm;
	int32_t key_id;
	int64_t block_id;
	const char *hex;
};

/* Tokens of user alice for READ and COPY with two storages; Writable first, then protobuf. */
static const struct vector vectors[] = {
	{VREAD_KEY_HMAC_SHA1, KEY_ID, BLOCK,
	 "5f8a01a3185c50008d12d68700000005616c6963650000001c42502d312d3132372e302e302e312d313730303"
	 "0"
	 "30303030303030308c4000000102045245414404434f505902044449534b03535344020000000444532d31000"
	 "0"
	 "000444532d3214feeb34d833944d22643a1e205451e7f0fcb7f09b10484446535f424c4f434b5f544f4b454e0"
	 "e"
	 "3132372e302e302e313a39383636"},
	{VREAD_KEY_HMAC_SHA1, STRIPED_KEY_ID, STRIPED,
	 "608a01a3185c5000b300000005616c6963650000001c42502d312d3132372e302e302e312d313730303030303"
	 "0"
	 "3030303030807fffffffffffffef02045245414404434f505902044449534b03535344020000000444532d310"
	 "0"
	 "00000444532d3214316650b59fc0baa153fa5056a1e00a5a5a3d15f210484446535f424c4f434b5f544f4b454"
	 "e"
	 "0e3132372e302e302e313a39383636"},
	{VREAD_KEY_HMAC_SHA256, KEY_ID, BLOCK,
	 "5f8a01a3185c50008d12d68700000005616c6963650000001c42502d312d3132372e302e302e312d313730303"
	 "0"
	 "30303030303030308c4000000102045245414404434f505902044449534b03535344020000000444532d31000"
	 "0"
	 "000444532d3220be009b11ca31abfb93c84c42567f1697fda792f859218e693dd941f06bc85cb210484446535"
	 "f"
	 "424c4f434b5f544f4b454e0e3132372e302e302e313a39383636"},
	{VREAD_KEY_HMAC_SHA1, KEY_ID, BLOCK,
	 "4a0880a0f1c2b1341087ad4b1a05616c696365221c42502d312d3132372e302e302e312d31373030303030303"
	 "0"
	 "303030302881808080043001300338013802420444532d31420444532d3214709018bf90680249cf6b6b0d6e4"
	 "2"
	 "a464449b2ace10484446535f424c4f434b5f544f4b454e0e3132372e302e302e313a39383636"},
	{VREAD_KEY_HMAC_SHA1, STRIPED_KEY_ID, STRIPED,
	 "510880a0f1c2b13410b3ffffff0f1a05616c696365221c42502d312d3132372e302e302e312d3137303030303"
	 "0"
	 "30303030303028908080808080808080013001300338013802420444532d31420444532d3214a20121770f294"
	 "1"
	 "8180d4ed28db00057f175c446c10484446535f424c4f434b5f544f4b454e0e3132372e302e302e313a3938363"
	 "6"},
	{VREAD_KEY_HMAC_SHA256, KEY_ID, BLOCK,
	 "4a0880a0f1c2b1341087ad4b1a05616c696365221c42502d312d3132372e302e302e312d31373030303030303"
	 "0"
	 "303030302881808080043001300338013802420444532d31420444532d3220768fdd913a60c2683bfd432dcf2"
	 "9"
	 "4de2dbeb9145f3c0c7f7c9a14aca1da2f99310484446535f424c4f434b5f544f4b454e0e3132372e302e302e3"
	 "1"
	 "3a39383636"},
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static struct token_keys keys_of(uint8_t algorithm, int32_t id)
{
	struct token_keys keys = {.count = 2};

	keys.key[0] = (struct token_key){9, VREAD_KEY_HMAC_SHA1, 5, EXPIRY, "other", 0};
	keys.key[1] = (struct token_key){id, algorithm, 8, EXPIRY, SECRET, 0};
	return keys;
}

/* ---- what Hadoop writes ------------------------------------------------------------ */

static void written_by_hadoop(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct token_keys keys = keys_of(v->algorithm, v->key_id);
		uint8_t raw[512];
		size_t length = from_hex(v->hex, raw);
		struct block_token t;

		assert_int_equal(token_parse(raw, length, &t), 0);
		assert_int_equal(t.expiry, EXPIRY);
		assert_int_equal(t.key_id, v->key_id);
		assert_int_equal(t.block_id, v->block_id);
		assert_string_equal(t.pool_id, POOL);
		assert_true(t.may_read);
		assert_int_equal(token_judge(raw, length, &keys, POOL, v->block_id, NOW),
				 TOKEN_VALID);
	}
}

static void another_block_pool_or_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct token_keys keys = keys_of(v->algorithm, v->key_id);
		uint8_t raw[512];
		size_t n = from_hex(v->hex, raw);

		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id + 1, NOW),
				 TOKEN_OF_ANOTHER_BLOCK);
		assert_int_equal(token_judge(raw, n, &keys, POOL "0", v->block_id, NOW),
				 TOKEN_OF_ANOTHER_BLOCK);
		assert_int_equal(token_judge(raw, n, &keys, "BP-1", v->block_id, NOW),
				 TOKEN_OF_ANOTHER_BLOCK);
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, EXPIRY),
				 TOKEN_VALID);
		keys.key[1].expiry = EXPIRY + 10;
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, EXPIRY + 1),
				 TOKEN_EXPIRED);
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, EXPIRY + 11),
				 TOKEN_UNKNOWN_KEY);
	}
}

static void other_keys(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct token_keys keys = keys_of(v->algorithm, v->key_id), none = {0};
		uint8_t raw[512];
		size_t n = from_hex(v->hex, raw);

		assert_int_equal(token_judge(raw, n, &none, POOL, v->block_id, NOW),
				 TOKEN_UNKNOWN_KEY);
		assert_int_equal(token_judge(raw, 0, &keys, POOL, v->block_id, NOW), TOKEN_MISSING);
		keys.key[1].bytes[7]++;
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, NOW), TOKEN_FORGED);
		keys = keys_of(v->algorithm, v->key_id);
		keys.key[1].length = 7;
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, NOW), TOKEN_FORGED);
		keys = keys_of(VREAD_KEY_HMAC_SHA512, v->key_id);
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, NOW), TOKEN_FORGED);
		keys = keys_of(v->algorithm, v->key_id + 1);
		assert_int_equal(token_judge(raw, n, &keys, POOL, v->block_id, NOW),
				 TOKEN_UNKNOWN_KEY);
	}
}

/* Each bit of identifier and password counts.  Kind and service are not signed, as in Hadoop. */
static void every_bit_counts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct token_keys keys = keys_of(v->algorithm, v->key_id);
		uint8_t raw[512];
		size_t n = from_hex(v->hex, raw), end;
		struct block_token t;

		assert_int_equal(token_parse(raw, n, &t), 0);
		end = (size_t)(t.password + t.password_length - raw);
		for (size_t bit = 0; bit < 8 * end; bit++) {
			raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(token_judge(raw, n, &keys, POOL, v->block_id, NOW),
					     TOKEN_VALID);
			raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void cut_short_or_longer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		uint8_t raw[513] = {0};
		size_t n = from_hex(vectors[i].hex, raw);
		struct block_token t;

		for (size_t length = 0; length < n; length++) {
			/* A copy of exact size: a sanitizer sees reads past its end. */
			uint8_t *copy = malloc(length ? length : 1);

			memcpy(copy, raw, length);
			assert_int_equal(token_parse(copy, length, &t), -EINVAL);
			free(copy);
		}
		assert_int_equal(token_parse(raw, n + 1, &t), -EINVAL);
	}
}

/* ---- what is signed, but says something else ------------------------------------------ */

struct text {
	uint8_t byte[9000];
	size_t length;
};

static void put(struct text *t, const void *bytes, size_t length)
{
	memcpy(t->byte + t->length, bytes, length);
	t->length += length;
}

static void put_counted(struct text *t, const void *bytes, size_t length)
{
	const uint8_t small[] = {(uint8_t)length};
	const uint8_t large[] = {0x8e, (uint8_t)(length >> 8), (uint8_t)length};

	if (length < 128)
		put(t, small, 1);
	else
		put(t, large, 3);
	put(t, bytes, length);
}

/* Stores a token with that identifier and a correct signature in *ret. */
static void sign(const struct text *identifier, struct text *ret)
{
	static const char kind[] = "HDFS_BLOCK_TOKEN";
	uint8_t code[EVP_MAX_MD_SIZE];
	unsigned length;

	HMAC(EVP_sha1(), SECRET, 8, identifier->byte, identifier->length, code, &length);
	*ret = (struct text){.length = 0};
	put_counted(ret, identifier->byte, identifier->length);
	put_counted(ret, code, length);
	put_counted(ret, kind, strlen(kind));
	put_counted(ret, "", 0);
}

/* Returns the verdict on a token with that identifier and a correct signature. */
static enum token_verdict judge(const struct text *identifier)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID);
	struct text token;

	sign(identifier, &token);
	return token_judge(token.byte, token.length, &keys, POOL, BLOCK, NOW);
}

/* Stores the identifier of a vector in *t. */
static void take_identifier(unsigned which, struct text *t)
{
	uint8_t raw[512];
	size_t n = from_hex(vectors[which].hex, raw);
	struct block_token parsed;

	assert_int_equal(token_parse(raw, n, &parsed), 0);
	*t = (struct text){.length = 0};
	put(t, parsed.identifier, parsed.identifier_length);
	assert_int_equal(judge(t), TOKEN_VALID);
}

#define WRITABLE 0U
#define PROTOBUF 3U

/* Returns the offset of mark in the identifier. */
static size_t modes_of(const struct text *t, const char *mark, size_t length)
{
	const uint8_t *at = memmem(t->byte, t->length, mark, length);

	assert_non_null(at);
	return (size_t)(at - t->byte);
}

static void modes_of_writable(void **state)
{
	static const char end[] = "\x02\x04READ\x04";
	struct text whole, t;
	size_t at;

	(void)state;
	take_identifier(WRITABLE, &whole);
	at = modes_of(&whole, end, sizeof(end) - 1);
	t = whole;
	t.length = at;
	put(&t, "\x01\x05WRITE\0\0", 9);
	assert_int_equal(judge(&t), TOKEN_NOT_FOR_READING);
	t.length = at;
	put(&t, "\0\0\0", 3);
	assert_int_equal(judge(&t), TOKEN_NOT_FOR_READING);
	t.length = at;
	put(&t, "\x02\x05WRITE\x04READ", 13);
	assert_int_equal(judge(&t), TOKEN_VALID); /* as Hadoop 2 wrote it: no storages */
	t.length = at;
	put(&t, "\xff", 1);
	assert_int_equal(judge(&t), TOKEN_MALFORMED);
	t.length = at;
	put(&t, "\x03\x04READ\x04READ", 11);
	assert_int_equal(judge(&t), TOKEN_MALFORMED); /* two of three */
	t.length = at;
	put(&t, "\x8c\x7f\xff\xff\xff\x04READ", 10);
	assert_int_equal(judge(&t), TOKEN_MALFORMED);
}

static void texts_of_writable(void **state)
{
	static const char user[] = "\0\0\0\x05"
				   "alice";
	struct text whole, t;
	size_t at;

	(void)state;
	take_identifier(WRITABLE, &whole);
	at = modes_of(&whole, user, sizeof(user) - 1);
	t = whole;
	t.length = at;
	put(&t, "\xff\xff\xff\xff", 4); /* no user */
	put(&t, whole.byte + at + 9, whole.length - at - 9);
	assert_int_equal(judge(&t), TOKEN_VALID);
	t.length = at;
	put(&t, "\xff\xff\xff\xfe", 4);
	put(&t, whole.byte + at + 9, whole.length - at - 9);
	assert_int_equal(judge(&t), TOKEN_MALFORMED);
	t = whole;
	t.byte[at + 9 + 3] = 0; /* the pool's length */
	assert_int_equal(judge(&t), TOKEN_MALFORMED);
	t = whole;
	t.byte[at + 9 + 4 + 3] = '\0'; /* in the pool's name */
	assert_int_equal(judge(&t), TOKEN_MALFORMED);
}

static void fields_of_protobuf(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		enum token_verdict verdict;
	} tails[] = {
		{"\x30\x01", 2, TOKEN_VALID},
		{"\x30\x03", 2, TOKEN_NOT_FOR_READING},
		{"\x32\x02\x03\x01", 4, TOKEN_VALID}, /* packed */
		{"\x32\x01\x03", 3, TOKEN_NOT_FOR_READING},
		{"\x32\x02\x03\x81", 4, TOKEN_MALFORMED},
		{"\x30\x01\x4a\x03xyz", 7, TOKEN_VALID},  /* handshake secret */
		{"\x30\x01\xf8\x3f\x05", 5, TOKEN_VALID}, /* a field we do not know */
		{"\x30\x01\xfd\x3f"
		 "abcd",
		 8, TOKEN_VALID},
		{"\x30\x01\xf9\x3f"
		 "abcdefgh",
		 12, TOKEN_VALID},
		{"\x30\x01\x08\x01", 4, TOKEN_MALFORMED}, /* expires twice */
		{"\x30\x01\x28\x01", 4, TOKEN_MALFORMED}, /* of two blocks */
		{"\x30\x01\x22\x01"
		 "B",
		 5, TOKEN_MALFORMED}, /* and pools */
		{"\x35"
		 "abcd",
		 5, TOKEN_MALFORMED},
		{"\x33", 1, TOKEN_MALFORMED}, /* a group */
		{"\x30\x01\x34", 3, TOKEN_MALFORMED},
		{"\x30\x01\x00\x00", 4, TOKEN_MALFORMED}, /* field 0 */
		{"\x30\x01\x4a\x7fxyz", 7, TOKEN_MALFORMED},
		{"\x30\x01\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, TOKEN_MALFORMED},
		{"\x30\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, TOKEN_MALFORMED},
		{"", 0, TOKEN_NOT_FOR_READING},
	};
	struct text whole;
	size_t at;

	(void)state;
	take_identifier(PROTOBUF, &whole);
	at = modes_of(&whole, "\x30\x01\x30\x03", 4);
	for (unsigned i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct text t = whole;

		t.length = at;
		put(&t, tails[i].bytes, tails[i].length);
		assert_int_equal(judge(&t), tails[i].verdict);
	}
}

static void without_a_field(void **state)
{
	/* expiry, key, pool, block */
	static const char *const fields[] = {"\x08\x80\xa0\xf1\xc2\xb1\x34", "\x10\x87\xad\x4b",
					     "\x22\x1c" POOL, "\x28\x81\x80\x80\x80\x04"};
	struct text whole;

	(void)state;
	take_identifier(PROTOBUF, &whole);
	for (unsigned i = 0; i < 4; i++) {
		size_t length = strlen(fields[i]), at = modes_of(&whole, fields[i], length);
		struct text t = {.length = 0};

		put(&t, whole.byte, at);
		put(&t, whole.byte + at + length, whole.length - at - length);
		assert_int_equal(judge(&t), TOKEN_MALFORMED);
	}
}

static void huge(void **state)
{
	static uint8_t raw[2 * VREAD_MAX_TOKEN];
	struct text whole;
	struct block_token t;

	(void)state;
	take_identifier(PROTOBUF, &whole);
	while (whole.length < 8000)
		put(&whole,
		    "\x42\x04"
		    "DS-1",
		    6);
	assert_int_equal(judge(&whole), TOKEN_VALID);
	while (whole.length < 8200)
		put(&whole,
		    "\x42\x04"
		    "DS-1",
		    6);
	assert_int_equal(judge(&whole), TOKEN_MALFORMED);
	assert_int_equal(token_parse(raw, sizeof(raw), &t), -EINVAL);
	memset(raw, 0x80, sizeof(raw)); /* the largest lengths there are */
	assert_int_equal(token_parse(raw, VREAD_MAX_TOKEN, &t), -EINVAL);
	memset(raw, 0xff, sizeof(raw));
	assert_int_equal(token_parse(raw, VREAD_MAX_TOKEN, &t), -EINVAL);
}

/* ---- keys ----------------------------------------------------------------------------- */

static void put_key(struct text *t, int32_t id, uint8_t algorithm, uint8_t length)
{
	const struct vread_key header = {id, algorithm, length, 0, EXPIRY};

	put(t, &header, sizeof(header));
	t->length += length;
}

static void keys_as_they_come(void **state)
{
	static struct text t;
	struct token_keys keys;

	(void)state;
	assert_int_equal(token_parse_keys(t.byte, 0, &keys), 0);
	assert_int_equal(keys.count, 0);
	for (int i = 0; i < (int)VREAD_MAX_KEYS; i++)
		put_key(&t, -i, VREAD_KEY_HMAC_SHA1 + i % 4, i ? (uint8_t)i : VREAD_MAX_KEY);
	assert_int_equal(token_parse_keys(t.byte, t.length, &keys), 0);
	assert_int_equal(keys.count, VREAD_MAX_KEYS);
	assert_int_equal(keys.key[5].id, -5);
	assert_int_equal(keys.key[5].length, 5);
	assert_int_equal(keys.key[5].expiry, EXPIRY);
	assert_int_equal(token_parse_keys(t.byte, t.length - 1, &keys), -EINVAL);
	put_key(&t, 1000, VREAD_KEY_HMAC_SHA1, 8);
	assert_int_equal(token_parse_keys(t.byte, t.length, &keys), -EINVAL); /* too many */
}

static void bad_keys(void **state)
{
	static const struct {
		uint8_t algorithm, length;
		uint16_t reserved;
	} bad[] = {{0, 8, 0},
		   {VREAD_KEY_HMAC_SHA512 + 1, 8, 0},
		   {VREAD_KEY_HMAC_SHA1, 0, 0},
		   {VREAD_KEY_HMAC_SHA1, VREAD_MAX_KEY + 1, 0},
		   {VREAD_KEY_HMAC_SHA1, 8, 1}};
	struct token_keys keys;
	struct text t;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vread_key header = {1, bad[i].algorithm, bad[i].length, bad[i].reserved, 1};

		t = (struct text){.length = 0};
		put(&t, &header, sizeof(header));
		t.length += bad[i].length;
		assert_int_equal(token_parse_keys(t.byte, t.length, &keys), -EINVAL);
	}
	t = (struct text){.length = 0};
	put_key(&t, 7, VREAD_KEY_HMAC_SHA1, 8);
	put_key(&t, 7, VREAD_KEY_HMAC_SHA1, 8);
	assert_int_equal(token_parse_keys(t.byte, t.length, &keys), -EINVAL); /* one id, two keys */
}

/* ---- a datanode's ---------------------------------------------------------------------- */

static struct token_grant grant; /* of the last check */

/* Writes a token that expires in an hour: the vectors expire in 2027.  Returns its length. */
static size_t fresh_token(uint8_t *out)
{
	static const char user[] = "\0\0\0\x05"
				   "alice";
	int64_t expiry = ((int64_t)time(NULL) + 3600) * 1000;
	struct text identifier, t = {.length = 0}, token;
	size_t at;

	take_identifier(WRITABLE, &identifier);
	at = modes_of(&identifier, user, sizeof(user) - 1) - 4;
	put(&t, "\x8a", 1);
	for (int shift = 40; shift >= 0; shift -= 8)
		put(&t, &(uint8_t){(uint8_t)(expiry >> shift)}, 1);
	put(&t, identifier.byte + at, identifier.length - at);
	sign(&t, &token);
	memcpy(out, token.byte, token.length);
	return token.length;
}

static void modes(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0};
	struct tokens *t = tokens_new("dn1", NULL);
	uint8_t token[512];
	size_t n = fresh_token(token);

	(void)state;
	keys.key[1].expiry = INT64_MAX;
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), -EPERM);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), 0);
	assert_int_equal(tokens_check(t, "BP-2", BLOCK, NULL, 0, &grant),
			 -EPERM); /* HDFS uses tokens in all pools or in none */
	assert_int_equal(own_agent_take(t, POOL, true, &none), 0);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), -EPERM);
	tokens_set_mode(t, TOKENS_REQUIRED);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), -EPERM);
	assert_int_equal(tokens_check(t, "BP-2", BLOCK, token, n, &grant), -EPERM);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), 0);
	tokens_set_mode(t, TOKENS_OFF);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	tokens_put(t);
}

/* The grant of an OPEN holds while the key that signed its token is there. */
static void a_grant_holds_while_its_key_does(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0}, swapped;
	struct tokens *t = tokens_new("dn1", NULL);
	uint8_t token[512];
	size_t n = fresh_token(token);

	(void)state;
	keys.key[1].expiry = INT64_MAX;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), 0);
	assert_true(tokens_hold(t, POOL, &grant));
	keys.key[0].bytes[0]++;   /* another key is replaced */
	keys.key[1].expiry = NOW; /* the time decides only about an OPEN */
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_true(tokens_hold(t, POOL, &grant));
	swapped = (struct token_keys){2, {keys.key[1], keys.key[0]}};
	assert_int_equal(own_agent_take(t, POOL, true, &swapped), 0);
	assert_int_equal(own_agent_take(t, "BP-2", true, &none), 0);
	assert_true(tokens_hold(t, POOL, &grant));
	assert_false(tokens_hold(t, "BP-2", &(struct token_grant){grant.key, 0}));
	keys.key[1].bytes[0]++; /* its id has another key: the NameNode was restarted */
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_false(tokens_hold(t, POOL, &grant));
	keys.key[1].bytes[0]--;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_false(tokens_hold(t, POOL, &grant)); /* the OPEN is judged anew */
	assert_int_equal(own_agent_take(t, POOL, true, &none), 0);
	assert_false(tokens_hold(t, POOL, &grant));
	tokens_set_mode(t, TOKENS_OFF);
	assert_true(tokens_hold(t, POOL, &grant));
	tokens_put(t);
}

/* Without a token a handle is good only as long as none is required. */
static void a_grant_without_a_token(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0};
	struct tokens *t = tokens_new("dn1", NULL);

	(void)state;
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	assert_int_equal(own_agent_take(t, POOL, false, &none), 0);
	assert_true(tokens_hold(t, POOL, &grant));
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_false(tokens_hold(t, POOL, &grant));
	tokens_set_mode(t, TOKENS_OFF);
	assert_true(tokens_hold(t, POOL, &grant));
	tokens_set_mode(t, TOKENS_REQUIRED);
	assert_false(tokens_hold(t, POOL, &grant));
	tokens_put(t);
}

/* A datanode that said that tokens are on cannot say that they are off.  The keys stay. */
static void off_is_refused(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0};
	struct tokens *t = tokens_new("dn1", NULL);
	uint8_t token[512];
	size_t n = fresh_token(token);

	(void)state;
	keys.key[1].expiry = INT64_MAX;
	assert_int_equal(own_agent_take(t, POOL, false, &none), 0);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_int_equal(own_agent_take(t, POOL, false, &none), -EPERM);
	assert_int_equal(own_agent_take(t, "BP-2", false, &none), -EPERM);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), -EPERM);
	assert_int_equal(tokens_check(t, POOL, BLOCK, token, n, &grant), 0);
	tokens_set_mode(t, TOKENS_REQUIRED);
	assert_int_equal(own_agent_take(t, POOL, false, &none), -EPERM);
	tokens_put(t);
}

/* What the datanode said last while the operator said off counts when the operator says auto. */
static void off_and_auto_again(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0};
	struct tokens *t = tokens_new("dn1", NULL);

	(void)state;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	tokens_set_mode(t, TOKENS_OFF);
	tokens_set_mode(t, TOKENS_AUTO);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), -EPERM);
	tokens_set_mode(t, TOKENS_OFF);
	assert_int_equal(own_agent_take(t, POOL, false, &none), 0);
	tokens_set_mode(t, TOKENS_AUTO);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	tokens_put(t);
}

/* A list that is full does not keep the datanode from saying that tokens are on. */
static void full_of_pools(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID), none = {0};
	struct tokens *t = tokens_new("dn1", NULL);
	char pool[16];

	(void)state;
	tokens_set_mode(t, TOKENS_OFF);
	for (unsigned i = 0; i < TOKENS_MAX_POOLS; i++) {
		snprintf(pool, sizeof(pool), "BP-%u", i);
		assert_int_equal(own_agent_take(t, pool, true, &keys), 0);
		assert_int_equal(own_agent_take(t, pool, false, &none), 0);
	}
	tokens_set_mode(t, TOKENS_AUTO);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), 0);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), -EMFILE);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), -EPERM);
	tokens_set_mode(t, TOKENS_OFF);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), -EMFILE);
	tokens_set_mode(t, TOKENS_AUTO);
	assert_int_equal(tokens_check(t, POOL, BLOCK, NULL, 0, &grant), -EPERM);
	tokens_put(t);
}

static void pools_are_bounded(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID);
	struct tokens *t = tokens_new("dn1", NULL);
	char pool[16];

	(void)state;
	for (unsigned i = 0; i < TOKENS_MAX_POOLS; i++) {
		snprintf(pool, sizeof(pool), "BP-%u", i);
		assert_int_equal(own_agent_take(t, pool, true, &keys), 0);
	}
	assert_int_equal(own_agent_take(t, "BP-more", true, &keys), -EMFILE);
	assert_int_equal(own_agent_take(t, "BP-0", true, &keys), 0);
	tokens_put(t);
}

/* The status holds no key. */
static void status(void **state)
{
	struct token_keys keys = keys_of(VREAD_KEY_HMAC_SHA1, KEY_ID);
	struct tokens *t = tokens_new("dn1", NULL);
	uint8_t token[512];
	size_t n = fresh_token(token);
	json_t *o;
	char *text;

	(void)state;
	keys.key[1].expiry = INT64_C(1) << 60;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	tokens_check(t, POOL, BLOCK, token, n, &grant);
	tokens_check(t, POOL, BLOCK, NULL, 0, &grant);
	tokens_check(t, POOL, BLOCK + 1, token, n, &grant);
	tokens_check(t, POOL, BLOCK + 2, token, n, &grant);
	o = tokens_status(t);
	assert_true(json_integer_value(json_object_get(o, "since")) > 0);
	json_object_del(o, "since");
	text = json_dumps(o, JSON_COMPACT);
	assert_string_equal(text,
			    "{\"mode\":\"auto\",\"required\":true,\"seen\":true,\"pools\":[{"
			    "\"pool\":\"" POOL "\",\"required\":true,\"keys\":2,"
			    "\"expiry\":1152921504606846976,\"until\":1152921504606846976}],"
			    "\"valid\":1,\"refused\":{\"missing\":1,\"of-another-block\":2}}");
	free(text);
	json_decref(o);
	tokens_put(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_by_hadoop),
		cmocka_unit_test(another_block_pool_or_time),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(cut_short_or_longer),
		cmocka_unit_test(modes_of_writable),
		cmocka_unit_test(texts_of_writable),
		cmocka_unit_test(fields_of_protobuf),
		cmocka_unit_test(without_a_field),
		cmocka_unit_test(huge),
		cmocka_unit_test(keys_as_they_come),
		cmocka_unit_test(bad_keys),
		cmocka_unit_test(modes),
		cmocka_unit_test(a_grant_holds_while_its_key_does),
		cmocka_unit_test(a_grant_without_a_token),
		cmocka_unit_test(off_is_refused),
		cmocka_unit_test(off_and_auto_again),
		cmocka_unit_test(full_of_pools),
		cmocka_unit_test(pools_are_bounded),
		cmocka_unit_test(status),
	};

	return cmocka_run_group_tests(tests, own_agent_start, own_agent_end);
}
