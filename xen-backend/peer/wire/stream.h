/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream.h - messages over TLS: the transport every pair of hosts has. */
#ifndef VREAD_PEER_STREAM_H
#define VREAD_PEER_STREAM_H

#include "peer/wire/tls.h"
#include "peer/wire/transport.h"

/* Takes over tls.  NULL: out of memory; tls is the caller's. */
struct transport *stream_new(struct tls *tls, const struct transport_user *user, void *ctx);

#endif
