// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tls_suite.c - measures the TLS ciphers, and orders them by their speed.
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
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define TRIAL_BYTES (16 << 10) /* the size of a TLS record */
#define TRIALS 5
#define CIPHERS 3
#define MAX_NAME 32

struct suite {
	const char *name;
	const EVP_CIPHER *(*cipher)(void);
	uint64_t ns; /* of a record */
};

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
/* The fastest one is the first, once they are measured. */
static struct suite suites[CIPHERS] = {
	{"TLS_AES_128_GCM_SHA256", EVP_aes_128_gcm, 0},
	{"TLS_AES_256_GCM_SHA384", EVP_aes_256_gcm, 0},
	{"TLS_CHACHA20_POLY1305_SHA256", EVP_chacha20_poly1305, 0},
};
static char names[CIPHERS * MAX_NAME];

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

static int compare(const void *a, const void *b)
{
	const struct suite *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void choose(void)
{
	for (unsigned i = 0; i < CIPHERS; i++)
		suites[i].ns = trial(suites[i].cipher());
	log_debug("TLS: 16 KiB by AES-128-GCM %llu ns, by AES-256-GCM %llu ns, by "
		  "ChaCha20-Poly1305 %llu ns",
		  (unsigned long long)suites[0].ns, (unsigned long long)suites[1].ns,
		  (unsigned long long)suites[2].ns);
	qsort(suites, CIPHERS, sizeof(suites[0]), compare);
	for (unsigned i = 0; i < CIPHERS; i++)
		strcat(strcat(names, i ? ":" : ""), suites[i].name);
}

const char *tls_suites(void)
{
	pthread_once(&chosen, choose);
	return names;
}

const char *tls_suite_first(void)
{
	pthread_once(&chosen, choose);
	return suites[0].name;
}
