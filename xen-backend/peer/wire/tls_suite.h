/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_suite.h - the order in which TLS ciphers are offered.
 *
 * Called by tls_context.c for the TLS settings and by peer/peers.c for the status.
 *
 * There are three ciphers: AES-GCM with keys of 128 and of 256 bits, and ChaCha20-Poly1305.  The
 * one that is fastest on this machine is offered first; the accepting side takes the first one that
 * it has.  The first call measures all three, within a few milliseconds.  Threads: any.
 */
#ifndef VREAD_PEER_TLS_SUITE_H
#define VREAD_PEER_TLS_SUITE_H

/* All ciphers, for SSL_CTX_set_ciphersuites(). */
const char *tls_suites(void);
/* The cipher that is offered first. */
const char *tls_suite_first(void);

#endif
