// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plain.c - sends and receives DATA unencrypted, with a MAC or without.
 *
 * Called by stream.c (plain.h).
 *
 * A GMAC is what AES-GCM makes of data that is only authenticated.  Without a MAC the functions
 * about it do nothing.
 */
#include "peer/wire/plain.h"

#include <endian.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "peer/wire/tls.h"

#define KEY 16U
#define NONCE 12U
/* Bytes are received in pieces, which stay in the cache until they are at their place. */
#define PIECE (128U << 10)

/* One direction. */
struct mac {
	EVP_CIPHER_CTX *ctx; /* NULL: there is no MAC */
	uint64_t frames;     /* so many were begun */
};

struct plain_frames {
	struct tls *tls;
	uint8_t head[PLAIN_HEAD];
	size_t mac_length;
	struct mac out, in;
	bool sending;
	uint8_t mac_sent[PLAIN_MAC];
	/* What has arrived of the head and the header, or of the MAC. */
	uint8_t arrived[PLAIN_HEAD + MESSAGE_HEADER];
	size_t num_arrived;
	/* The MAC is of bytes in this memory.  Their place is memory of a guest; a guest that
	 * changes it meanwhile must not make the MAC wrong: the connection would end for others. */
	uint8_t piece[PIECE];
};

static bool mac_new(struct mac *m, const uint8_t key[KEY])
{
	m->ctx = EVP_CIPHER_CTX_new();
	return m->ctx && EVP_EncryptInit_ex(m->ctx, EVP_aes_128_gcm(), NULL, key, NULL) == 1;
}

static bool mac_add(struct mac *m, const void *bytes, size_t length)
{
	int n;

	return !m->ctx || EVP_EncryptUpdate(m->ctx, NULL, &n, bytes, (int)length) == 1;
}

static bool mac_begin(struct mac *m, const uint8_t *first)
{
	uint8_t nonce[NONCE] = {0};
	uint64_t number = htobe64(m->frames++);

	memcpy(nonce + NONCE - sizeof(number), &number, sizeof(number));
	return !m->ctx || (EVP_EncryptInit_ex(m->ctx, NULL, NULL, NULL, nonce) == 1 &&
			   mac_add(m, first, PLAIN_HEAD));
}

static bool mac_end(struct mac *m, uint8_t ret[PLAIN_MAC])
{
	uint8_t none[EVP_MAX_BLOCK_LENGTH];
	int n;

	return !m->ctx || (EVP_EncryptFinal_ex(m->ctx, none, &n) == 1 &&
			   EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, PLAIN_MAC, ret) == 1);
}

static bool make_macs(struct plain_frames *f)
{
	uint8_t key[KEY];
	bool made = tls_export(f->tls, PLAIN_KEY_LABEL, key, sizeof(key)) == 0 &&
		    mac_new(&f->out, key) && mac_new(&f->in, key);

	OPENSSL_cleanse(key, sizeof(key));
	f->mac_length = PLAIN_MAC;
	return made;
}

struct plain_frames *plain_new(struct tls *tls, bool with_mac)
{
	struct plain_frames *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->tls = tls;
	f->head[0] = PLAIN_MARK;
	f->head[1] = with_mac ? 0 : PLAIN_NO_MAC;
	if (!with_mac || make_macs(f))
		return f;
	plain_free(f);
	return NULL;
}

void plain_free(struct plain_frames *f)
{
	if (!f)
		return;
	EVP_CIPHER_CTX_free(f->out.ctx);
	EVP_CIPHER_CTX_free(f->in.ctx);
	free(f);
}

/* ---- out ----------------------------------------------------------------------------- */

/* Leaves out the first `sent` bytes of the parts. */
static void skip(struct iovec *parts, unsigned count, size_t sent)
{
	for (unsigned i = 0; i < count; i++) {
		size_t n = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		parts[i].iov_base = (uint8_t *)parts[i].iov_base + n;
		parts[i].iov_len -= n;
		sent -= n;
	}
}

static int begin_frame(struct plain_frames *f, const uint8_t *message, size_t length)
{
	int r = f->sending ? 0 : tls_begin_frame(f->tls);

	if (r || f->sending)
		return r;
	f->sending = true;
	return mac_begin(&f->out, f->head) && mac_add(&f->out, message, length) &&
			       mac_end(&f->out, f->mac_sent)
		       ? 0
		       : -EIO;
}

int plain_send(struct plain_frames *f, const uint8_t *message, size_t length, size_t *sent)
{
	size_t whole = PLAIN_HEAD + length + f->mac_length;
	int r = begin_frame(f, message, length);

	while (!r && *sent < whole) {
		struct iovec parts[] = {
			{f->head, PLAIN_HEAD},
			{(void *)message, length},
			{f->mac_sent, f->mac_length},
		};
		ssize_t n;

		skip(parts, 3, *sent);
		n = tls_put(f->tls, parts, 3);
		if (n < 0)
			return (int)n;
		*sent += (size_t)n;
	}
	if (r)
		return r;
	f->sending = false;
	tls_end_frame(f->tls);
	return 0;
}

/* ---- in ------------------------------------------------------------------------------ */

/* Collects bytes in f->arrived until there are `length`. */
static int collect(struct plain_frames *f, size_t length)
{
	while (f->num_arrived < length) {
		ssize_t n = tls_take(f->tls, f->arrived + f->num_arrived, length - f->num_arrived);

		if (n < 0)
			return (int)n;
		f->num_arrived += (size_t)n;
	}
	f->num_arrived = 0;
	return 0;
}

int plain_take_header(struct plain_frames *f, uint8_t raw[MESSAGE_HEADER])
{
	int r = collect(f, PLAIN_HEAD + MESSAGE_HEADER);

	if (r)
		return r;
	if (memcmp(f->arrived, f->head, PLAIN_HEAD))
		return -EPROTO;
	memcpy(raw, f->arrived + PLAIN_HEAD, MESSAGE_HEADER);
	return mac_begin(&f->in, f->arrived) && mac_add(&f->in, raw, MESSAGE_HEADER) ? 0 : -EIO;
}

ssize_t plain_take_bytes(struct plain_frames *f, uint8_t *at, size_t length)
{
	ssize_t n;

	if (at && !f->in.ctx)
		return tls_take(f->tls, at, length);
	n = tls_take(f->tls, f->piece, length < PIECE ? length : PIECE);
	if (n < 0)
		return n;
	if (!mac_add(&f->in, f->piece, (size_t)n))
		return -EIO;
	if (at)
		memcpy(at, f->piece, (size_t)n);
	return n;
}

int plain_take_end(struct plain_frames *f)
{
	uint8_t right[PLAIN_MAC];
	int r = collect(f, f->mac_length);

	if (r)
		return r;
	if (!mac_end(&f->in, right))
		return -EIO;
	if (CRYPTO_memcmp(right, f->arrived, f->mac_length))
		return -EBADMSG;
	tls_take_end(f->tls);
	return 0;
}
