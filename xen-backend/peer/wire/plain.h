/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plain.h - DATA that goes unencrypted between the records of a TLS connection.
 *
 * Called by stream.c, if both hosts have agreed to frames (message.h: the transports MAC and BARE).
 *
 *   TCP      | TLS record | TLS record | frame                        | TLS record | frame ...
 *
 *   frame    u8 PLAIN_MARK, u8 kind, u8 0, u8 0
 *            a DATA with the flag PLAIN: 20 bytes of header, then the bytes
 *            kind 0: 16 bytes of MAC over all of these; kind 1: nothing
 *
 * Only the host that answers sends frames.  The first byte tells a frame from a record: no record
 * of TLS begins with it.  A frame stands between two messages, never within one.
 *
 * All frames of a connection are of the kind that both hosts have agreed to.
 *
 * The MAC is AES-128-GMAC.  Its key is exported from the TLS connection (RFC 8446, 7.5), so only
 * the two authenticated ends have it, and each connection has another one.  The nonce is the number
 * of the frame on the connection.  So somebody on the way can read a frame, and cannot change,
 * repeat, leave out, reorder or invent one.  The receiver checks the MAC at the end of a frame, and
 * the first wrong one ends the connection: a READ is not done before the MAC of its last frame was
 * right.  Its bytes may lie at their place before that.
 *
 * Frames without a MAC are for networks that are trusted as Hadoop trusts them by default.
 * Somebody on the way can change the bytes and the CRC32C in the header alike.  He gains what the
 * peer could do as well, and nothing else: DATA goes to the place of a READ under way, or the
 * connection ends.
 *
 * One thread at a time may use frames.
 */
#ifndef VREAD_PEER_PLAIN_H
#define VREAD_PEER_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "peer/wire/message.h"

#define PLAIN_MARK 0xd4 /* types of records are 20 to 24 */
#define PLAIN_NO_MAC 1  /* kind */
#define PLAIN_HEAD 4U
#define PLAIN_MAC 16U
#define PLAIN_KEY_LABEL "EXPERIMENTAL-vread-frame"

struct plain_frames;
struct tls;

/* After the handshake.  tls must outlive the frames.  NULL: out of memory, or no key or cipher. */
struct plain_frames *plain_new(struct tls *tls, bool with_mac);
void plain_free(struct plain_frames *f);

/* Sends a frame with that message, which is a DATA.  *sent: 0 for a new frame; then how much was
 * sent.  No other frame may be begun before this one is sent.  0: all is sent; -EAGAIN: call again
 * with the same message when the socket is ready; other negative errno: see tls_error(). */
int plain_send(struct plain_frames *f, const uint8_t *message, size_t length, size_t *sent);

/* Receive a frame: first its message's header, then the bytes in pieces, then its end, which is a
 * MAC if it has one.  plain_take_header() and plain_take_end() return 0; -EAGAIN: call again when
 * the socket is ready; -EPROTO: the frame is malformed; -EBADMSG: its MAC is wrong; or another
 * negative errno, see tls_error().  plain_take_bytes() returns how many bytes it has put to `at`
 * (NULL: nowhere), or negative errno in the same way. */
int plain_take_header(struct plain_frames *f, uint8_t raw[MESSAGE_HEADER]);
ssize_t plain_take_bytes(struct plain_frames *f, uint8_t *at, size_t length);
int plain_take_end(struct plain_frames *f);

#endif
