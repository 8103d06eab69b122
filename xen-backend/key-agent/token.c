// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses and judges HDFS block access tokens; see token.h.  answer.c calls it.
 *
 * A cursor walks over the bytes.  The cursor turns bad if more bytes are taken than are left.
 *
 * Of an identifier, the fields that decide are read.  The fields behind them (such as types and ids
 * of storages) are skipped: the signature covers them.  An identifier that has a deciding field
 * twice is refused, so that no other reader can understand it differently.
 */
#include "key-agent/token.h"

#include <endian.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static const uint8_t *take(struct cursor *c, uint64_t length)
{
	const uint8_t *start = c->at;

	if (c->bad || length > c->left) {
		c->bad = true;
		return NULL;
	}
	c->at += length;
	c->left -= (size_t)length;
	return start;
}

static uint8_t take8(struct cursor *c)
{
	const uint8_t *byte = take(c, 1);

	return byte ? *byte : 0;
}

/* ---- Hadoop's own numbers and texts (WritableUtils) -------------------------------- */

/* Takes a number.  The first byte is a small number, or tells the sign and how many bytes
 * follow. */
static int64_t take_vlong(struct cursor *c)
{
	int first = (int8_t)take8(c);
	bool negative = first < -120;
	uint64_t value = 0;

	if (first >= -112)
		return first;
	for (int n = negative ? -120 - first : -112 - first; n > 0; n--)
		value = value << 8 | take8(c);
	return (int64_t)(negative ? ~value : value);
}

/* Takes bytes that follow their count. */
static struct cursor take_counted(struct cursor *c)
{
	int64_t length = take_vlong(c);
	const uint8_t *bytes = take(c, length < 0 ? UINT64_MAX : (uint64_t)length);

	return (struct cursor){bytes, bytes ? (size_t)length : 0, c->bad};
}

/* Takes a text that follows its length in four bytes; length -1: no text. */
static struct cursor take_string(struct cursor *c)
{
	const uint8_t *raw = take(c, 4);
	uint32_t length;
	const uint8_t *bytes;

	if (!raw)
		return (struct cursor){.bad = true};
	memcpy(&length, raw, sizeof(length));
	length = be32toh(length);
	if (length == UINT32_MAX)
		return (struct cursor){0};
	bytes = take(c, length);
	return (struct cursor){bytes, bytes ? length : 0, c->bad};
}

/* ---- identifiers ---------------------------------------------------------------------- */

static void set_pool(struct block_token *t, struct cursor *c, const struct cursor *text)
{
	if (text->left == 0 || text->left > VREAD_MAX_POOL_ID ||
	    memchr(text->at, '\0', text->left)) {
		c->bad = true;
		return;
	}
	memcpy(t->pool_id, text->at, text->left);
	t->pool_id[text->left] = '\0';
}

static void take_writable(struct cursor *c, struct block_token *ret)
{
	struct cursor pool;
	int64_t id, modes;

	ret->expiry = take_vlong(c);
	id = take_vlong(c);
	ret->key_id = (int32_t)id;
	take_string(c); /* the user is ignored: whoever has a token may use it */
	pool = take_string(c);
	set_pool(ret, c, &pool);
	ret->block_id = take_vlong(c);
	modes = take_vlong(c);
	if (id != ret->key_id || modes < 0)
		c->bad = true;
	for (; modes > 0 && !c->bad; modes--) {
		struct cursor mode = take_counted(c);

		if (mode.left == 4 && memcmp(mode.at, "READ", 4) == 0)
			ret->may_read = true;
	}
}

/* protobuf's BlockTokenSecretProto */
enum field { EXPIRY = 1, KEY_ID = 2, POOL_ID = 4, BLOCK_ID = 5, MODES = 6 };
#define DECIDING (1U << EXPIRY | 1U << KEY_ID | 1U << POOL_ID | 1U << BLOCK_ID)
#define MODE_READ 1
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static uint64_t take_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = take8(c);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

static void set_number(struct cursor *c, struct block_token *ret, unsigned field, uint64_t value)
{
	switch (field) {
	case EXPIRY:
		ret->expiry = (int64_t)value;
		break;
	case KEY_ID:
		ret->key_id = (int32_t)value;
		break;
	case BLOCK_ID:
		ret->block_id = (int64_t)value;
		break;
	case MODES:
		ret->may_read |= value == MODE_READ;
		break;
	case POOL_ID:
		c->bad = true;
		break;
	default:
		break;
	}
}

static void set_bytes(struct cursor *c, struct block_token *ret, unsigned field,
		      struct cursor bytes)
{
	if (field == POOL_ID)
		set_pool(ret, c, &bytes);
	else if (field == MODES) /* packed */
		while (bytes.left && !bytes.bad)
			set_number(&bytes, ret, MODES, take_varint(&bytes));
	else if (field < 32 && DECIDING & 1U << field)
		c->bad = true;
	c->bad |= bytes.bad;
}

static void take_value(struct cursor *c, struct block_token *ret, unsigned field, enum wire wire)
{
	struct cursor bytes = {0};

	switch (wire) {
	case VARINT:
		set_number(c, ret, field, take_varint(c));
		break;
	case BYTES:
		bytes.left = (size_t)take_varint(c);
		bytes.at = take(c, bytes.left);
		if (!c->bad)
			set_bytes(c, ret, field, bytes);
		break;
	case FIXED32:
	case FIXED64:
		take(c, wire == FIXED32 ? 4 : 8);
		c->bad |= field < 32 && (DECIDING | 1U << MODES) & 1U << field;
		break;
	default: /* groups do not occur */
		c->bad = true;
	}
}

static void take_protobuf(struct cursor *c, struct block_token *ret)
{
	unsigned seen = 0;

	while (c->left && !c->bad) {
		uint64_t tag = take_varint(c), field = tag >> 3;

		if (field == 0 || field > 0x1fffffff) {
			c->bad = true;
			break;
		}
		if (field < 32 && seen & DECIDING & 1U << field)
			c->bad = true;
		if (field < 32)
			seen |= 1U << field;
		take_value(c, ret, (unsigned)field, (enum wire)(tag & 7));
	}
	c->bad |= (seen & DECIDING) != DECIDING;
}

int token_parse(const void *raw, size_t length, struct block_token *ret)
{
	struct cursor c = {raw, length, length > VREAD_MAX_TOKEN};
	struct cursor identifier = take_counted(&c), password = take_counted(&c);

	take_counted(&c); /* its kind */
	take_counted(&c); /* its service; kind and service are not signed */
	if (c.bad || c.left || !identifier.left || !password.left)
		return -EINVAL;
	*ret = (struct block_token){
		.identifier = identifier.at,
		.identifier_length = identifier.left,
		.password = password.at,
		.password_length = password.left,
	};
	/* A Writable begins with the expiry.  The first byte of such a long number is its length
	 * code, which is negative.  protobuf begins with a field's tag, which is positive. */
	if ((int8_t)identifier.at[0] <= 0)
		take_writable(&identifier, ret);
	else
		take_protobuf(&identifier, ret);
	return identifier.bad ? -EINVAL : 0;
}

/* ---- keys ------------------------------------------------------------------------------ */

static const EVP_MD *digest(uint8_t algorithm)
{
	switch (algorithm) {
	case VREAD_KEY_HMAC_SHA1:
		return EVP_sha1();
	case VREAD_KEY_HMAC_SHA256:
		return EVP_sha256();
	case VREAD_KEY_HMAC_SHA384:
		return EVP_sha384();
	case VREAD_KEY_HMAC_SHA512:
		return EVP_sha512();
	default:
		return NULL;
	}
}

const struct token_key *token_find_key(const struct token_keys *keys, int32_t id)
{
	for (unsigned i = 0; i < keys->count; i++)
		if (keys->key[i].id == id)
			return &keys->key[i];
	return NULL;
}

/* Writes the key to its place: no copy is left on the stack. */
static bool take_key(struct cursor *c, struct token_key *ret)
{
	struct vread_key header;
	const uint8_t *raw = take(c, sizeof(header)), *bytes;

	if (!raw)
		return false;
	memcpy(&header, raw, sizeof(header));
	if (header.length == 0 || header.length > VREAD_MAX_KEY || header.reserved ||
	    !digest(header.algorithm))
		return false;
	bytes = take(c, header.length);
	if (!bytes)
		return false;
	*ret = (struct token_key){
		.id = header.id,
		.algorithm = header.algorithm,
		.length = header.length,
		.expiry = header.expiry,
	};
	memcpy(ret->bytes, bytes, header.length);
	return true;
}

int token_parse_keys(const void *raw, size_t length, struct token_keys *ret)
{
	struct cursor c = {raw, length, false};

	ret->count = 0;
	while (c.left) {
		struct token_key *key = &ret->key[ret->count];

		if (ret->count == VREAD_MAX_KEYS || !take_key(&c, key) ||
		    token_find_key(ret, key->id))
			return -EINVAL;
		ret->count++;
	}
	return 0;
}

/* ---- judging ---------------------------------------------------------------------------- */

static bool is_signed(const struct block_token *t, const struct token_key *key)
{
	uint8_t code[EVP_MAX_MD_SIZE];
	unsigned length;
	bool is_right = HMAC(digest(key->algorithm), key->bytes, key->length, t->identifier,
			     t->identifier_length, code, &length) &&
			length == t->password_length &&
			CRYPTO_memcmp(code, t->password, length) == 0;

	OPENSSL_cleanse(code, sizeof(code)); /* with the key's code a token can be made */
	return is_right;
}

enum token_verdict token_judge(const void *raw, size_t length, const struct token_keys *keys,
			       const char *pool_id, int64_t block_id, int64_t now)
{
	const struct token_key *key;
	struct block_token t;

	if (length == 0)
		return TOKEN_MISSING;
	if (token_parse(raw, length, &t) < 0)
		return TOKEN_MALFORMED;
	key = token_find_key(keys, t.key_id);
	if (!key || now > key->expiry)
		return TOKEN_UNKNOWN_KEY;
	if (!is_signed(&t, key))
		return TOKEN_FORGED;
	if (now > t.expiry)
		return TOKEN_EXPIRED;
	if (t.block_id != block_id || strcmp(t.pool_id, pool_id) != 0)
		return TOKEN_OF_ANOTHER_BLOCK;
	return t.may_read ? TOKEN_VALID : TOKEN_NOT_FOR_READING;
}
