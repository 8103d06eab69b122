/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls_private.h - functions of tls_context.c that tls.c calls.
 */
#ifndef VREAD_PEER_TLS_PRIVATE_H
#define VREAD_PEER_TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "peer/wire/tls.h"

/* The credentials as of the last usable files; reads the files again if they have changed.  Returns
 * a reference, for SSL_CTX_free().  *ret_generation changes whenever the files were read again.
 * Any thread. */
SSL_CTX *tls_context_get(struct tls_context *c, uint64_t *ret_generation);
/* True if the certificate is for that name.  False with NULL. */
bool tls_certificate_is_for(X509 *certificate, const char *name);
/* The text of OpenSSL's last error in this thread. */
const char *tls_openssl_error(void);

#endif
