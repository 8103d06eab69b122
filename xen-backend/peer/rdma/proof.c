// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/proof.c - computes and checks the proofs of rdma/proof.h.  listen.c and meet.c call it.
 */
#include "peer/rdma/proof.h"

#include <errno.h>
#include <string.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

static const uint8_t magic[4] = "VRD1";
static const char asker[] = "vread asker", answerer[] = "vread answerer";

#define MAX_WHO 16
#define QP_BYTES 4

static uint8_t *put(uint8_t *at, const void *data, size_t length)
{
	memcpy(at, data, length);
	return at + length;
}

static uint8_t *put_number(uint8_t *at, uint32_t n)
{
	const uint8_t bytes[QP_BYTES] = {n, n >> 8, n >> 16, n >> 24};

	return put(at, bytes, sizeof(bytes));
}

static int prove(const struct rdma_secret *s, const char *who, const struct rdma_meeting *m,
		 uint8_t ret[RDMA_PROOF_BYTES])
{
	uint8_t text[MAX_WHO + RDMA_NAME_BYTES + 2 * RDMA_NONCE_BYTES + 2 * QP_BYTES] = {0};
	uint8_t *at = text + MAX_WHO;
	unsigned length = RDMA_PROOF_BYTES;

	memcpy(text, who, strlen(who));
	at = put(at, m->name, sizeof(m->name));
	at = put(at, m->asker_nonce, sizeof(m->asker_nonce));
	at = put(at, m->answerer_nonce, sizeof(m->answerer_nonce));
	at = put_number(at, m->asker_qp);
	at = put_number(at, m->answerer_qp);
	if (!HMAC(EVP_sha256(), s->key, sizeof(s->key), text, at - text, ret, &length))
		return -EIO;
	return length == RDMA_PROOF_BYTES ? 0 : -EIO;
}

static int compare(const struct rdma_secret *s, const char *who, const struct rdma_meeting *m,
		   const uint8_t *given)
{
	uint8_t right[RDMA_PROOF_BYTES];
	int r = prove(s, who, m, right);

	if (r < 0)
		return r;
	return CRYPTO_memcmp(right, given, sizeof(right)) ? -EPROTO : 0;
}

int rdma_proof_hello(const struct rdma_secret *s, struct rdma_meeting *m, struct rdma_hello *ret)
{
	if (RAND_bytes(m->asker_nonce, sizeof(m->asker_nonce)) != 1)
		return -EIO;
	memcpy(m->name, s->name, sizeof(m->name));
	memcpy(ret->magic, magic, sizeof(magic));
	memcpy(ret->name, m->name, sizeof(m->name));
	memcpy(ret->nonce, m->asker_nonce, sizeof(m->asker_nonce));
	return 0;
}

/* Private data that arrives has zeros behind what was sent. */
int rdma_proof_take_hello(struct rdma_meeting *m, const void *data, size_t length)
{
	struct rdma_hello hello;

	if (!data || length < sizeof(hello))
		return -EPROTO;
	memcpy(&hello, data, sizeof(hello));
	if (memcmp(hello.magic, magic, sizeof(magic)) != 0)
		return -EPROTO;
	memcpy(m->name, hello.name, sizeof(m->name));
	memcpy(m->asker_nonce, hello.nonce, sizeof(m->asker_nonce));
	return 0;
}

int rdma_proof_welcome(const struct rdma_secret *s, struct rdma_meeting *m,
		       struct rdma_welcome *ret)
{
	if (RAND_bytes(m->answerer_nonce, sizeof(m->answerer_nonce)) != 1)
		return -EIO;
	memcpy(ret->magic, magic, sizeof(magic));
	memcpy(ret->nonce, m->answerer_nonce, sizeof(m->answerer_nonce));
	return prove(s, answerer, m, ret->proof);
}

int rdma_proof_take_welcome(const struct rdma_secret *s, struct rdma_meeting *m, const void *data,
			    size_t length, uint8_t proof[RDMA_PROOF_BYTES])
{
	struct rdma_welcome welcome;
	int r;

	if (!data || length < sizeof(welcome))
		return -EPROTO;
	memcpy(&welcome, data, sizeof(welcome));
	if (memcmp(welcome.magic, magic, sizeof(magic)) != 0)
		return -EPROTO;
	memcpy(m->answerer_nonce, welcome.nonce, sizeof(m->answerer_nonce));
	r = compare(s, answerer, m, welcome.proof);
	return r < 0 ? r : prove(s, asker, m, proof);
}

int rdma_proof_check(const struct rdma_secret *s, const struct rdma_meeting *m, const void *data,
		     size_t length)
{
	if (length != RDMA_PROOF_BYTES)
		return -EPROTO;
	return compare(s, asker, m, data);
}
