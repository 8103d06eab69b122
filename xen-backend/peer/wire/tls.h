/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.h - TLS connections between two hosts, and the credentials they are made with.
 *
 * peer/asking/ and peer/answering/ make connections, peer/wire/stream.c sends and receives.
 * peer/peers.c makes the context of vreadd; control/config_warn.c makes one to check the files.
 *
 * Only TLS 1.3 is used.  Both ends present a certificate of the configured authority.  The name in
 * the certificate (a DNS name, or the CN if there is no DNS name) is the peer's name.  Sessions are
 * never resumed and early data is not accepted, so a recorded connection cannot be replayed.
 *
 * Sockets are non-blocking.  One thread at a time may use a connection; any thread may use a
 * context.
 *
 * A thread that serves many connections gives each a turn.  The other side may send without end,
 * also messages of TLS itself, which tls_read() does not return.  So a turn is counted in bytes
 * that are taken from the socket.
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

/* Reads the certificate, which must be for the configured name, the key, the authority and its
 * revocation list.  All of them are read again when the files have changed.  config must outlive
 * the context.  0, or negative errno with *ret_error (free() it). */
int tls_context_new(const struct peers_config *config, struct tls_context **ret, char **ret_error);
/* Reads the files again now.  0, or negative errno with *ret_error (free() it): then the old ones
 * stay in use. */
int tls_context_reload(struct tls_context *c, char **ret_error);
void tls_context_free(struct tls_context *c);

/* Takes over fd, also on failure.  NULL: out of memory.  name: this host connected, and the other
 * side's certificate must be for that name.  name NULL: the other side connected; ask
 * tls_is_named() after the handshake. */
struct tls *tls_new(struct tls_context *c, int fd, const char *name);
void tls_free(struct tls *t);
/* Tells the other side that the connection ends.  Does not wait. */
void tls_shutdown(struct tls *t);

/* 1: done, the other side is authenticated; 0: call again when the socket is ready; negative errno:
 * see tls_error(). */
int tls_handshake(struct tls *t);
/* Checks, after the handshake, whether the other side would still be accepted with the files as
 * they are now.  0, or negative errno, see tls_error(): for example its certificate has expired or
 * was revoked.  Cheap while nothing has changed. */
int tls_recheck(struct tls *t);
bool tls_is_named(const struct tls *t, const char *name);

/* Begins a turn of tls_read().  After TLS_TURN bytes tls_read() returns -EAGAIN, although the
 * socket is ready: poll() the socket, and begin another turn.  If the other side connected,
 * TLS_TURN_ANSWERING counts instead, because requests are short.  tls_handshake() begins a turn by
 * itself. */
#define TLS_TURN (4U << 20)
#define TLS_TURN_ANSWERING (256U << 10)
void tls_begin_turn(struct tls *t);
/* Return the number of bytes, at least 1; 0: the other side has ended the connection in order
 * (tls_read() only); -EAGAIN: call again when the socket is ready; other negative errno: see
 * tls_error().  Call tls_read() until it returns -EAGAIN: bytes may be buffered here, and poll() on
 * the socket does not report them.  Written bytes may stay in a buffer until tls_flush(). */
ssize_t tls_read(struct tls *t, void *bytes, size_t length);
ssize_t tls_write(struct tls *t, const void *bytes, size_t length);
/* Sends the written bytes that are still in the buffer.  0: all are sent; -EAGAIN: call again when
 * the socket is ready; other negative errno: see tls_error().  tls_handshake() sends all its bytes
 * by itself. */
int tls_flush(struct tls *t);
bool tls_is_flushed(const struct tls *t);

/* ---- frames between the records of TLS: only plain.c and who asks for frames call these ---- */

struct iovec;

/* Before the handshake: from now on frames may arrive.  False: out of memory. */
bool tls_expect_frames(struct tls *t);
/* True if a frame is next.  Then tls_read() returns -EAGAIN until tls_take_end(). */
bool tls_is_at_frame(const struct tls *t);
/* Takes bytes of the frame as they came.  Returns their number, at least 1; -EAGAIN, also at the
 * end of a turn; other negative errno: see tls_error(). */
ssize_t tls_take(struct tls *t, void *bytes, size_t length);
/* The frame was taken. */
void tls_take_end(struct tls *t);
/* Sends what tls_write() was given, and holds back what OpenSSL sends by itself until
 * tls_end_frame().  Returns as tls_flush(). */
int tls_begin_frame(struct tls *t);
/* Sends bytes of the frame as they are.  Returns their number; -EAGAIN; other negative errno: see
 * tls_error(). */
ssize_t tls_put(struct tls *t, const struct iovec *parts, unsigned count);
void tls_end_frame(struct tls *t);

int tls_fd(const struct tls *t);
/* The poll() events to wait for, beside POLLIN. */
short tls_wants(const struct tls *t);
/* A text about the last error. */
const char *tls_error(const struct tls *t);

/* Derives a secret of this connection that only its two ends know.  0 or -EIO. */
int tls_export(struct tls *t, const char *label, uint8_t *secret, size_t length);

#endif
