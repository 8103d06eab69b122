// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tls_suite.c - measures two TLS ciphers, and orders them by their speed.
 *
 * Called by tls_context.c and peer/peers.c.
 *
 * cpuid does not tell how fast instructions are: an emulated processor has instructions for AES,
 * but they are slow.
 */
#include "peer/wire/tls_suite.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define TRIAL_BYTES (16 << 10) /* the size of a TLS record */
#define TRIALS 5
#define GCM "TLS_AES_256_GCM_SHA384"
#define CHACHA "TLS_CHACHA20_POLY1305_SHA256"

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static const char *first = GCM, *second = CHACHA;
static char suites[sizeof(GCM) + sizeof(CHACHA)];

static bool seal(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, uint8_t *bytes)
{
	static const uint8_t key[32], nonce[12];
	int n;

	return EVP_EncryptInit_ex(ctx, cipher, NULL, key, nonce) == 1 &&
	       EVP_EncryptUpdate(ctx, bytes, &n, bytes, TRIAL_BYTES) == 1 &&
	       EVP_EncryptFinal_ex(ctx, bytes + n, &n) == 1;
}

/* The time of the fastest of TRIALS runs, in nanoseconds; UINT64_MAX: the cipher failed. */
static uint64_t trial(const EVP_CIPHER *cipher)
{
	static uint8_t bytes[TRIAL_BYTES + EVP_MAX_BLOCK_LENGTH];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint64_t best = UINT64_MAX;

	for (int i = 0; ctx && i < TRIALS; i++) {
		uint64_t begun = clock_measure_ns(), ns;

		if (!seal(ctx, cipher, bytes))
			break;
		ns = clock_measure_ns() - begun;
		if (ns < best)
			best = ns;
	}
	EVP_CIPHER_CTX_free(ctx);
	return best;
}

static void choose(void)
{
	uint64_t gcm = trial(EVP_aes_256_gcm()), chacha = trial(EVP_chacha20_poly1305());

	if (chacha < gcm) {
		first = CHACHA;
		second = GCM;
	}
	strcat(strcat(strcpy(suites, first), ":"), second);
	log_debug("TLS: 16 KiB by AES-256-GCM %llu ns, by ChaCha20-Poly1305 %llu ns",
		  (unsigned long long)gcm, (unsigned long long)chacha);
}

const char *tls_suites(void)
{
	pthread_once(&chosen, choose);
	return suites;
}

const char *tls_suite_first(void)
{
	pthread_once(&chosen, choose);
	return first;
}
