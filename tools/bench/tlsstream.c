/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tlsstream.c - moves bytes of memory over one TLS 1.3 connection, without vRead.  peer.py and
 * wire.py run it, to tell what TLS itself costs.
 *
 *   tlsstream serve PORT BYTES CERTIFICATE KEY CIPHER   sends BYTES bytes to each client; does
 *                                                       not end
 *   tlsstream fetch HOST PORT CIPHER                    reads all that a server sends and
 *                                                       discards it
 *
 * CIPHER is OpenSSL's name, as TLS_AES_128_GCM_SHA256.  fetch ends with a line of JSON on standard
 * error: bytes, seconds, cpu_seconds.  The handshake is not part of the time.
 *
 * Both ends use OpenSSL as fast as it goes, with vreadd's settings (peer/wire/tls.c): records are
 * collected before a system call sends them, and two records are received at once.
 */
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "stream.h"

#define REQUEST (1U << 20)
#define MEMORY_MAX (1ULL << 40)
#define BATCH (64U << 10)
#define TAKEN (2 * SSL3_RT_MAX_PACKET_SIZE)

static _Noreturn void fail_tls(const char *what)
{
	fprintf(stderr, "tlsstream: %s: ", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

static SSL_CTX *context_new(const char *cipher)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());

	if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(ctx, cipher) != 1)
		fail_tls(cipher);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_read_buffer_len(ctx, TAKEN);
	return ctx;
}

/* A connection over fd.  Outgoing records go through a buffer. */
static SSL *connection_new(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);
	BIO *in = BIO_new_socket(fd, BIO_NOCLOSE), *out = BIO_new_socket(fd, BIO_NOCLOSE);
	BIO *batch = BIO_new(BIO_f_buffer());
	int one = 1;

	if (!ssl || !in || !out || !batch || BIO_set_write_buffer_size(batch, BATCH) != 1)
		fail_tls("out of memory");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	SSL_set0_rbio(ssl, in);
	SSL_set0_wbio(ssl, BIO_push(batch, out));
	return ssl;
}

static void send_memory(SSL *ssl, uint64_t bytes)
{
	char *buffer = measure_buffer(REQUEST);
	size_t n = 1;

	for (; bytes && n; bytes -= n)
		if (SSL_write_ex(ssl, buffer, bytes < REQUEST ? bytes : REQUEST, &n) != 1)
			n = 0; /* the client is gone */
	(void)BIO_flush(SSL_get_wbio(ssl));
	if (!bytes)
		SSL_shutdown(ssl);
	(void)BIO_flush(SSL_get_wbio(ssl));
	munmap(buffer, REQUEST);
}

static _Noreturn void serve(uint16_t port, uint64_t bytes, const char *certificate, const char *key,
			    const char *cipher)
{
	SSL_CTX *ctx = context_new(cipher);
	int listener;

	if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1)
		fail_tls(certificate);
	if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		fail_tls(key);
	listener = stream_listen(port);
	for (;;) {
		int client = stream_accept(listener);
		SSL *ssl = connection_new(ctx, client);

		if (SSL_accept(ssl) == 1)
			send_memory(ssl, bytes);
		else
			ERR_print_errors_fp(stderr);
		SSL_free(ssl);
		close(client);
	}
}

static int fetch(const char *host, uint16_t port, const char *cipher)
{
	char *buffer = measure_buffer(REQUEST);
	SSL *ssl = connection_new(context_new(cipher), stream_connect(host, port));
	struct measure start;
	uint64_t bytes = 0;
	size_t n;

	if (SSL_connect(ssl) != 1)
		fail_tls(host);
	start = measure_now();
	while (SSL_read_ex(ssl, buffer, REQUEST, &n) == 1)
		bytes += n;
	if (SSL_get_error(ssl, 0) != SSL_ERROR_ZERO_RETURN)
		fail_tls(host);
	stream_report(start, bytes);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "serve") && argc == 7)
		serve((uint16_t)measure_count("port", argv[2], 65535),
		      measure_count("bytes", argv[3], MEMORY_MAX), argv[4], argv[5], argv[6]);
	if (!strcmp(mode, "fetch") && argc == 5)
		return fetch(argv[2], (uint16_t)measure_count("port", argv[3], 65535), argv[4]);
	fprintf(stderr, "usage: tlsstream serve PORT BYTES CERTIFICATE KEY CIPHER | "
			"fetch HOST PORT CIPHER\n");
	return 2;
}
