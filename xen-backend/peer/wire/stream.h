/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - the transport over TLS, which every pair of hosts has.
 *
 * Called by peer/asking/connect.c and by peer/answering/receiver.c, after the TLS handshake.
 */
#ifndef VREAD_PEER_STREAM_H
#define VREAD_PEER_STREAM_H

#include "peer/wire/tls.h"
#include "peer/wire/transport.h"

/* Takes over tls.  NULL: out of memory; then tls is still the caller's. */
struct transport *stream_new(struct tls *tls, const struct transport_user *user, void *ctx);
/* From now on DATA may go, and come, in frames.  t: of stream_new().  kind: MESSAGE_TRANSPORT_MAC
 * or MESSAGE_TRANSPORT_BARE.  0 or -ENOMEM. */
int stream_use_frames(struct transport *t, unsigned kind);

#endif
