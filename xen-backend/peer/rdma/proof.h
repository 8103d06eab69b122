/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/proof.h - proves to both ends of a queue pair who is at the other end.  listen.c and
 * meet.c call it.
 *
 * RDMA carries no certificates.  But each queue pair belongs to a TLS connection, so the two
 * hosts share a secret that nobody else has, and that belongs to this connection only:
 *
 *   asker      connection request   magic, name, nonce
 *   answerer   its acceptance       magic, nonce, proof
 *   asker      first message        proof
 *
 * The name says which secret is meant, and tells nothing about the key.  A proof is an
 * HMAC-SHA256 with the key.  It covers the side that proves, the name, both nonces and both
 * queue pairs' numbers.  Therefore a recorded proof is useless with another nonce, and the
 * proof of one side is useless to the other side.  A proof is also useless to somebody between
 * the two hosts who has queue pairs of his own.
 *
 * All functions only compute over bytes, except that two of them take random nonces.
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

/* As TLS's exporter returns it for RDMA_SECRET_LABEL without a context. */
struct rdma_secret {
	uint8_t name[RDMA_NAME_BYTES];
	uint8_t key[RDMA_KEY_BYTES];
};
#define RDMA_SECRET_LABEL "EXPERIMENTAL-vread-rdma"

/* What both hosts know when each has received the other's nonce. */
struct rdma_meeting {
	uint8_t name[RDMA_NAME_BYTES];
	uint8_t asker_nonce[RDMA_NONCE_BYTES];
	uint8_t answerer_nonce[RDMA_NONCE_BYTES];
	uint32_t asker_qp, answerer_qp;
};

/* The private data of a connection request (librdmacm has room for 56 bytes) and of an
 * acceptance (196 bytes). */
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

/* Each function returns 0; -EIO: no random numbers, or no HMAC; or -EPROTO: what arrived is not
 * right. */

/* Asker: begins m and makes the private data of the connection request. */
int rdma_proof_hello(const struct rdma_secret *s, struct rdma_meeting *m, struct rdma_hello *ret);
/* Answerer: takes the connection request.  m->name then names the secret. */
int rdma_proof_take_hello(struct rdma_meeting *m, const void *data, size_t length);
/* Answerer: makes the private data of the acceptance.  m must have both queue pairs' numbers. */
int rdma_proof_welcome(const struct rdma_secret *s, struct rdma_meeting *m,
		       struct rdma_welcome *ret);
/* Asker: checks the acceptance.  m must have both queue pairs' numbers.  proof: what the asker
 * sends next. */
int rdma_proof_take_welcome(const struct rdma_secret *s, struct rdma_meeting *m, const void *data,
			    size_t length, uint8_t proof[RDMA_PROOF_BYTES]);
/* Answerer: checks the asker's proof. */
int rdma_proof_check(const struct rdma_secret *s, const struct rdma_meeting *m, const void *data,
		     size_t length);

#endif
