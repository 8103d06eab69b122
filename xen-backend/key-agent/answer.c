// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements answer.h.
 *
 * The keys lie in OpenSSL's secure heap: its pages are not swapped out and are in no core.  They
 * come in a buffer that is wiped after each KEYS, and leave never.
 */
#include "key-agent/answer.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "key-agent/token.h"

/* Room for all slots with all keys, which no datanode has.  The kernel gives pages when they are
 * used. */
#define HEAP_BYTES (32U << 20)
#define HEAP_PIECE 64U

struct request {
	struct key_agent_request fixed;
	uint8_t bytes[KEY_AGENT_MAX_BYTES + 1]; /* one more, so that a longer request is seen */
};

static struct token_keys *slot[KEY_AGENT_SLOTS]; /* NULL: no keys */

/* ---- messages ---------------------------------------------------------------------- */

static int send_answer(int channel, const struct key_agent_answer *a)
{
	struct iovec part = {(void *)a, sizeof(*a)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	do
		n = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Returns false at the end of the channel, or if the message is no request. */
static bool receive(int channel, struct request *ret, size_t *ret_length)
{
	struct iovec part = {ret, sizeof(*ret)};
	/* Without room for them, descriptors that come along are dropped. */
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	do
		n = recvmsg(channel, &m, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(ret->fixed) || m.msg_flags & MSG_TRUNC)
		return false;
	*ret_length = (size_t)n - sizeof(ret->fixed);
	return *ret_length <= KEY_AGENT_MAX_BYTES && ret->fixed.slot < KEY_AGENT_SLOTS &&
	       memchr(ret->fixed.pool_id, '\0', sizeof(ret->fixed.pool_id));
}

/* ---- requests ---------------------------------------------------------------------- */

static void forget(uint32_t where)
{
	OPENSSL_secure_clear_free(slot[where], sizeof(*slot[where]));
	slot[where] = NULL;
}

static bool is_same(const struct token_key *a, const struct token_key *b)
{
	return a->id == b->id && a->algorithm == b->algorithm && a->length == b->length &&
	       CRYPTO_memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* known: the keys of before; NULL: none. */
static void number_keys(struct token_keys *keys, const struct token_keys *known)
{
	static uint64_t last;

	for (unsigned i = 0; i < keys->count; i++) {
		struct token_key *key = &keys->key[i];
		const struct token_key *old = known ? token_find_key(known, key->id) : NULL;

		key->number = old && is_same(key, old) ? old->number : ++last;
	}
}

static int take_keys(uint32_t where, const uint8_t *raw, size_t length, struct token_keys **ret)
{
	struct token_keys *keys;
	int r;

	if (where == KEY_AGENT_NO_KEYS)
		return -EINVAL;
	keys = OPENSSL_secure_zalloc(sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	r = token_parse_keys(raw, length, keys);
	if (r < 0) {
		OPENSSL_secure_clear_free(keys, sizeof(*keys));
		return r;
	}
	number_keys(keys, slot[where]);
	forget(where);
	slot[where] = *ret = keys;
	return 0;
}

static void keys(struct request *q, size_t length, struct key_agent_answer *ret)
{
	struct token_keys *taken = NULL;

	ret->result = take_keys(q->fixed.slot, q->bytes, length, &taken);
	OPENSSL_cleanse(q->bytes, length);
	for (unsigned i = 0; taken && i < taken->count; i++) {
		ret->number[i] = taken->key[i].number;
		if (taken->key[i].expiry > ret->newest)
			ret->newest = taken->key[i].expiry;
	}
	ret->count = taken ? taken->count : 0;
}

/* Returns the number of the key that signed a valid token. */
static uint64_t signer_of(const struct request *q, size_t length, const struct token_keys *known)
{
	const struct token_key *key = NULL;
	struct block_token t;

	if (token_parse(q->bytes, length, &t) == 0)
		key = token_find_key(known, t.key_id);
	return key ? key->number : 0;
}

/* The time is that of Hadoop's Time.now().  So the clocks of this host and the NameNode must agree,
 * as a datanode's and a NameNode's must.  It is the agent's own: vreadd's word about it would let
 * old tokens count. */
static void judge(const struct request *q, size_t length, struct key_agent_answer *ret)
{
	static const struct token_keys none;
	const struct token_keys *known = slot[q->fixed.slot];

	ret->result =
		(int32_t)token_judge(q->bytes, length, known ? known : &none, q->fixed.pool_id,
				     q->fixed.block_id, (int64_t)clock_wall_ms());
	if (ret->result == TOKEN_VALID)
		ret->number[0] = signer_of(q, length, known);
}

/* Returns false if the answer cannot be given. */
static bool carry_out(int channel, struct request *q, size_t length)
{
	struct key_agent_answer a = {0};

	switch (q->fixed.kind) {
	case KEY_AGENT_KEYS:
		keys(q, length, &a);
		break;
	case KEY_AGENT_JUDGE:
		judge(q, length, &a);
		OPENSSL_cleanse(q->bytes, length);
		break;
	case KEY_AGENT_FORGET:
		forget(q->fixed.slot);
		return true;
	default:
		return false;
	}
	return send_answer(channel, &a) == 0;
}

int answer_prepare(void)
{
	static const uint8_t key[] = "key", text[] = "text";
	const EVP_MD *const digests[] = {EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()};
	uint8_t code[EVP_MAX_MD_SIZE];
	unsigned length;

	for (unsigned i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
		if (!HMAC(digests[i], key, sizeof(key), text, sizeof(text), code, &length))
			return -EOPNOTSUPP;
	/* 2: the memory cannot be locked.  It is used all the same. */
	return CRYPTO_secure_malloc_init(HEAP_BYTES, HEAP_PIECE) ? 0 : -ENOMEM;
}

int answer_ready(int channel)
{
	const struct key_agent_answer ready = {0};

	return send_answer(channel, &ready);
}

void answer_requests(int channel)
{
	static struct request q;
	size_t length = 0;

	while (receive(channel, &q, &length) && carry_out(channel, &q, length))
		;
	OPENSSL_cleanse(&q, sizeof(q));
	for (uint32_t i = 0; i < KEY_AGENT_SLOTS; i++)
		forget(i);
}
