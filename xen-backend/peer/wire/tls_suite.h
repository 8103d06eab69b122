/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_suite.h - the order in which TLS ciphers are offered.
 *
 * Called by tls_context.c for the TLS settings and by peer/peers.c for the status.
 *
 * There are two ciphers with keys of 256 bits.  The one that is faster on this machine is offered
 * first; the accepting side takes the first one that it has.  The first call measures both, within
 * a few milliseconds.  Threads: any.
 */
#ifndef VREAD_PEER_TLS_SUITE_H
#define VREAD_PEER_TLS_SUITE_H

/* Both ciphers, for SSL_CTX_set_ciphersuites(). */
const char *tls_suites(void);
/* The cipher that is offered first. */
const char *tls_suite_first(void);

#endif
