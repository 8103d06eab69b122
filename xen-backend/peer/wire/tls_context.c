// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tls_context.c - this host's credentials: certificate, key, authority and its revocation list.
 *
 * peer/peers.c and control/config_warn.c make contexts; tls.c takes the credentials for each
 * connection.
 *
 * The files are read when vreadd starts, and again when they have changed.  Changes are looked for
 * when a connection is made or checked.  If new files cannot be used, for example because the key
 * of a new certificate is still being written, the old credentials stay in use until the files
 * change again.
 */
#include "peer/wire/tls_private.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "peer/settings.h"
#include "peer/wire/key_file.h"
#include "peer/wire/tls_suite.h"

#define LOOK_PAUSE 1000U /* ms between checks whether the files have changed */
#define FILES 4U
/* Size of OpenSSL's read buffer: two records.  After each record OpenSSL moves all bytes that lie
 * behind the record. */
#define TAKEN (2 * SSL3_RT_MAX_PACKET_SIZE)

/* A file has changed if one of these has. */
struct file_state {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	mode_t mode;
	gid_t group;
};

struct tls_context {
	const struct peers_config *config;
	pthread_mutex_t lock; /* protects the members below */
	SSL_CTX *ssl;         /* for both directions; each connection sets its own direction */
	uint64_t generation;
	uint64_t looked;                /* ms */
	struct file_state files[FILES]; /* at the last reading, successful or not */
};

const char *tls_openssl_error(void)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	return reason ? reason : "unknown error";
}

static int unusable(char **ret_error, const char *key, const char *path, const char *expected)
{
	return error_text(ret_error, -EINVAL, "[peers] %s: %s: %s: expected %s", key, path,
			  tls_openssl_error(), expected);
}

/* Loads the revocation list.  From now on a host is refused if its certificate is in the list, or
 * if there is no list of its authority. */
static int load_crl(SSL_CTX *ssl, const struct peers_config *c, char **ret_error)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ssl);
	X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

	if (!lookup || X509_load_crl_file(lookup, c->crl, X509_FILETYPE_PEM) < 1)
		return unusable(ret_error, "crl", c->crl,
				"a readable file with the authority's revocation list in PEM form");
	X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	return 0;
}

static int load_files(SSL_CTX *ssl, const struct peers_config *c, char **ret_error)
{
	int r = key_file_check(c->key, ret_error);

	if (r)
		return r;
	if (SSL_CTX_use_certificate_chain_file(ssl, c->certificate) != 1)
		return unusable(ret_error, "certificate", c->certificate,
				"a readable file with a certificate in PEM form");
	if (SSL_CTX_use_PrivateKey_file(ssl, c->key, SSL_FILETYPE_PEM) != 1)
		return unusable(ret_error, "key", c->key,
				"a readable file with the certificate's private key in PEM form");
	if (SSL_CTX_load_verify_file(ssl, c->ca) != 1)
		return unusable(ret_error, "ca", c->ca,
				"a readable file with the authority's certificate in PEM form");
	return c->crl[0] ? load_crl(ssl, c, ret_error) : 0;
}

bool tls_certificate_is_for(X509 *certificate, const char *name)
{
	unsigned flags = X509_CHECK_FLAG_NO_WILDCARDS;

	return certificate && X509_check_host(certificate, name, 0, flags, NULL) == 1;
}

/* A daemon cannot ask anyone for the password of a key. */
static int no_password(char *buffer, int size, int writing, void *ctx)
{
	(void)buffer, (void)size, (void)writing, (void)ctx;
	return -1;
}

static int set_up(SSL_CTX *ssl, const struct peers_config *c, char **ret_error)
{
	int r;

	SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
	SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_num_tickets(ssl, 0);
	SSL_CTX_set_ciphersuites(ssl, tls_suites());
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(ssl, 1);
	SSL_CTX_set_default_read_buffer_len(ssl, TAKEN);
	SSL_CTX_set_default_passwd_cb(ssl, no_password);
	r = load_files(ssl, c, ret_error);
	if (!r && !tls_certificate_is_for(SSL_CTX_get0_certificate(ssl), c->name))
		r = error_text(ret_error, -EINVAL,
			       "[peers] certificate: %s: expected a certificate for %s, the name "
			       "in [peers] name",
			       c->certificate, c->name);
	return r;
}

/* ---- reading them again -------------------------------------------------------------- */

static void look_at_files(const struct peers_config *c, struct file_state files[FILES])
{
	const char *const paths[FILES] = {c->certificate, c->key, c->ca, c->crl};

	memset(files, 0, FILES * sizeof(*files));
	for (unsigned i = 0; i < FILES; i++) {
		struct stat s;

		if (stat(paths[i], &s) < 0)
			continue; /* load_files() reports the error */
		files[i].device = s.st_dev;
		files[i].inode = s.st_ino;
		files[i].size = s.st_size;
		files[i].changed = s.st_mtim;
		files[i].mode = s.st_mode;
		files[i].group = s.st_gid;
	}
}

/* With the lock. */
static int read_files(struct tls_context *c, char **ret_error)
{
	SSL_CTX *ssl;
	int r;

	/* Before reading: files that change meanwhile are read again. */
	look_at_files(c->config, c->files);
	ERR_clear_error();
	ssl = SSL_CTX_new(TLS_method());
	if (!ssl)
		return error_text(ret_error, -ENOMEM, "out of memory");
	r = set_up(ssl, c->config, ret_error);
	if (r) {
		SSL_CTX_free(ssl);
		return r;
	}
	SSL_CTX_free(c->ssl);
	c->ssl = ssl;
	c->generation++;
	return 0;
}

/* With the lock. */
static int read_again(struct tls_context *c, char **ret_error)
{
	int r = read_files(c, ret_error);

	if (!r)
		log_info("[peers]: certificates were read again");
	return r;
}

/* With the lock. */
static void read_if_changed(struct tls_context *c)
{
	struct file_state now[FILES];
	char *error = NULL;

	if (clock_ms() - c->looked < LOOK_PAUSE)
		return;
	c->looked = clock_ms();
	look_at_files(c->config, now);
	if (memcmp(now, c->files, sizeof(now)) == 0)
		return;
	if (read_again(c, &error))
		log_error("%s; the certificates read before stay in use",
			  error ? error : "[peers]: out of memory");
	free(error);
}

int tls_context_reload(struct tls_context *c, char **ret_error)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = read_again(c, ret_error);
	pthread_mutex_unlock(&c->lock);
	return r;
}

SSL_CTX *tls_context_get(struct tls_context *c, uint64_t *ret_generation)
{
	SSL_CTX *ssl;

	pthread_mutex_lock(&c->lock);
	read_if_changed(c);
	ssl = c->ssl;
	SSL_CTX_up_ref(ssl);
	*ret_generation = c->generation;
	pthread_mutex_unlock(&c->lock);
	return ssl;
}

/* ---- beginning and end ----------------------------------------------------------------- */

int tls_context_new(const struct peers_config *config, struct tls_context **ret, char **ret_error)
{
	struct tls_context *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_text(ret_error, -ENOMEM, "out of memory");
	c->config = config;
	c->looked = clock_ms();
	pthread_mutex_init(&c->lock, NULL);
	r = read_files(c, ret_error);
	if (r)
		tls_context_free(c);
	else
		*ret = c;
	return r;
}

void tls_context_free(struct tls_context *c)
{
	if (!c)
		return;
	SSL_CTX_free(c->ssl);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
