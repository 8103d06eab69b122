/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_suite.h - in which order ciphers are asked for.
 *
 * Of the two with keys of 256 bits the one that is faster on this machine comes first; the one who is
 * asked takes the first he has.  Measured once, within a few milliseconds.  Any thread.
 */
#ifndef VREAD_PEER_TLS_SUITE_H
#define VREAD_PEER_TLS_SUITE_H

/* For SSL_CTX_set_ciphersuites(). */
const char *tls_suites(void);
/* The first of them. */
const char *tls_suite_first(void);

#endif
