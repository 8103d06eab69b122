/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.h - who a peer is, and a stream of bytes nobody else reads or changes.
 *
 * TLS 1.3 and nothing older; both ends present a certificate of the configured authority, and
 * the name in it (a DNS name, or the CN where there is none) is the peer's name.  No session is ever
 * resumed and no early data taken, so nothing recorded can be played again.
 *
 * Sockets do not block.  One thread at a time per connection; a context belongs to all.
 */
#ifndef VREAD_PEER_TLS_H
#define VREAD_PEER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct peers_config;
struct tls_context;
struct tls;

/* Reads the certificate, which must be for the configured name, the key, the authority, and whom it has
 * revoked; all that again when the files have changed.  config outlives it.  0, or negative errno with
 * *ret_error (free() it). */
int tls_context_new(const struct peers_config *config, struct tls_context **ret, char **ret_error);
/* Reads them again now.  If it fails those read before stay in use. */
int tls_context_reload(struct tls_context *c, char **ret_error);
void tls_context_free(struct tls_context *c);

/* Takes over fd, also on failure.  NULL: out of memory.  name: whose certificate the other side must
 * have; NULL: it connected, and who it is is asked with tls_is_named(). */
struct tls *tls_new(struct tls_context *c, int fd, const char *name);
void tls_free(struct tls *t);
/* Tells the other side that this is the end; does not wait. */
void tls_shutdown(struct tls *t);

/* 1: the other side is who it says; 0: go on when the socket is ready; negative errno: see
 * tls_error(). */
int tls_handshake(struct tls *t);
/* After the handshake: whether the other side would still be accepted, by the files as they are now.  0, or
 * negative errno: its certificate has expired or was revoked, see tls_error().  Cheap while nothing has
 * changed. */
int tls_recheck(struct tls *t);
bool tls_is_named(const struct tls *t, const char *name);

/* Bytes, at least one; 0: the orderly end (of reading); -EAGAIN: go on when the socket is ready;
 * other negative errno: see tls_error().  Read until it says -EAGAIN: the socket does not tell of bytes
 * that were taken from it already.  What was written may wait for tls_flush(). */
ssize_t tls_read(struct tls *t, void *bytes, size_t length);
ssize_t tls_write(struct tls *t, const void *bytes, size_t length);
/* What was written and not sent is: 0, -EAGAIN: go on when the socket is ready; other negative errno: see
 * tls_error().  A handshake sends all of it by itself. */
int tls_flush(struct tls *t);
bool tls_is_flushed(const struct tls *t);

int tls_fd(const struct tls *t);
/* For poll(): what is waited for beside POLLIN. */
short tls_wants(const struct tls *t);
/* What went wrong last. */
const char *tls_error(const struct tls *t);

/* A secret of this connection that only its two ends can know. */
int tls_export(struct tls *t, const char *label, uint8_t *secret, size_t length);

#endif
