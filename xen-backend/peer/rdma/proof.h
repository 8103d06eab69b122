/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/proof.h - who is at the other end of a queue pair?
 *
 * RDMA carries no certificates.  What it has is a TLS connection it belongs to, and so a
 * secret that only the two hosts share, and only for that connection:
 *
 *   asker      connection request   magic, name, nonce
 *   answerer   its acceptance       magic, nonce, proof over all of it
 *   asker      first message        proof
 *
 * The name says which secret, and tells nothing of it.  A proof is an HMAC-SHA256, with the key, of
 * who proves, the name, both nonces and both queue pairs' numbers: what was recorded
 * once is of no use with another nonce, one side's proof none to the other side, and
 * neither to somebody between the two who has queue pairs of his own.
 *
 * Functions over bytes, but for the random nonces.
 */
#ifndef VREAD_PEER_RDMA_PROOF_H
#define VREAD_PEER_RDMA_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_NAME_BYTES 16
#define RDMA_KEY_BYTES 32
#define RDMA_NONCE_BYTES 32
#define RDMA_PROOF_BYTES 32

/* As it comes out of TLS's exporter, with RDMA_SECRET_LABEL and no context. */
struct rdma_secret {
	uint8_t name[RDMA_NAME_BYTES];
	uint8_t key[RDMA_KEY_BYTES];
};
#define RDMA_SECRET_LABEL "EXPERIMENTAL-vread-rdma"

/* What both know when they have seen each other's first words. */
struct rdma_meeting {
	uint8_t name[RDMA_NAME_BYTES];
	uint8_t asker_nonce[RDMA_NONCE_BYTES];
	uint8_t answerer_nonce[RDMA_NONCE_BYTES];
	uint32_t asker_qp, answerer_qp;
};

/* As much as librdmacm's private data of a connection request has room for (56 bytes), and of
 * an acceptance (196). */
struct rdma_hello {
	uint8_t magic[4];
	uint8_t name[RDMA_NAME_BYTES];
	uint8_t nonce[RDMA_NONCE_BYTES];
};
struct rdma_welcome {
	uint8_t magic[4];
	uint8_t nonce[RDMA_NONCE_BYTES];
	uint8_t proof[RDMA_PROOF_BYTES];
};
_Static_assert(sizeof(struct rdma_hello) <= 56, "fits into a connection request");
_Static_assert(sizeof(struct rdma_welcome) <= 196, "fits into an acceptance");

/* Each 0, -EIO (no random numbers, or no HMAC), or, when what came is not right, -EPROTO. */

/* asker: begins m and says so. */
int rdma_proof_hello(const struct rdma_secret *s, struct rdma_meeting *m, struct rdma_hello *ret);
/* answerer: whose secret is asked for is in m->name then. */
int rdma_proof_take_hello(struct rdma_meeting *m, const void *data, size_t length);
/* answerer: with both numbers in m. */
int rdma_proof_welcome(const struct rdma_secret *s, struct rdma_meeting *m,
		       struct rdma_welcome *ret);
/* asker: with both numbers in m; proof is what it sends next. */
int rdma_proof_take_welcome(const struct rdma_secret *s, struct rdma_meeting *m, const void *data,
			    size_t length, uint8_t proof[RDMA_PROOF_BYTES]);
/* answerer: the asker's proof. */
int rdma_proof_check(const struct rdma_secret *s, const struct rdma_meeting *m, const void *data,
		     size_t length);

#endif
