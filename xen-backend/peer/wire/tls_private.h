/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tls_private.h - what connections need of the credentials they are made with. */
#ifndef VREAD_PEER_TLS_PRIVATE_H
#define VREAD_PEER_TLS_PRIVATE_H

#include <openssl/ssl.h>

#include "peer/wire/tls.h"

/* What the files say now, as far as they are usable: a reference, for SSL_CTX_free().  *ret_generation
 * is another number whenever they were read again.  Any thread. */
SSL_CTX *tls_context_get(struct tls_context *c, uint64_t *ret_generation);
/* Whether the certificate is for that name. */
bool tls_certificate_is_for(X509 *certificate, const char *name);
/* OpenSSL's last error of this thread. */
const char *tls_openssl_error(void);

#endif
