// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tls.c - TLS connections between two hosts.
 *
 * Called by peer/asking/, peer/answering/ and wire/stream.c (tls.h).
 */
#include "peer/wire/tls_private.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "peer/wire/tls_input.h"

/* Size of the buffer for outgoing bytes.  A record is only 16 KiB.  Copying the records into one
 * buffer costs less than a system call, packets and wakeups for each of them. */
#define BATCH (64U << 10)
/* A host changes its keys after millions of records.  More changes in one turn are an attack:
 * OpenSSL handles them within SSL_read(), and each costs more than a record of data. */
#define MAX_KEY_UPDATES 8U

struct tls {
	struct tls_context *context;
	SSL *ssl;
	uint64_t generation; /* of the credentials that last checked the peer */
	time_t expires;      /* end of the peer's certificate; 0: no certificate yet */
	int fd;
	short wants;
	struct tls_input input;
	bool in_frame;        /* a frame is being sent */
	uint64_t turn;        /* bytes of a turn */
	unsigned key_updates; /* received in this turn */
	char error[160];
};

static time_t wall_time(void)
{
	return (time_t)(clock_wall_ms() / 1000);
}

/* OpenSSL calls it around each write to the socket.  Within a frame the socket takes no bytes of
 * OpenSSL, as if it were full. */
static long on_output(BIO *socket, int operation, const char *bytes, size_t length, int argument,
		      long number, int result, size_t *processed)
{
	const struct tls *t = (const struct tls *)BIO_get_callback_arg(socket);

	(void)bytes, (void)length, (void)argument, (void)number, (void)processed;
	if (operation != BIO_CB_WRITE || !t->in_frame)
		return result;
	BIO_set_retry_write(socket);
	return -1;
}

/* OpenSSL calls it for each message of TLS itself. */
static void on_tls_message(int sent, int version, int type, const void *bytes, size_t length,
			   SSL *ssl, void *ctx)
{
	struct tls *t = ctx;

	(void)version, (void)ssl;
	if (!sent && type == SSL3_RT_HANDSHAKE && length &&
	    *(const uint8_t *)bytes == SSL3_MT_KEY_UPDATE)
		t->key_updates++;
}

void tls_begin_turn(struct tls *t)
{
	t->input.turn_ends = t->input.taken + t->turn;
	t->key_updates = 0;
}

/* Makes t->ssl read from t->input, and write to t->fd through a buffer.  The caller closes t->fd.
 * False: out of memory. */
static bool join(struct tls *t)
{
	SSL *ssl = t->ssl;
	BIO *in = tls_input_bio(&t->input), *out = BIO_new_socket(t->fd, BIO_NOCLOSE);
	BIO *batch = BIO_new(BIO_f_buffer());

	if (!in || !out || !batch || BIO_set_write_buffer_size(batch, BATCH) != 1) {
		BIO_free(in);
		BIO_free(out);
		BIO_free(batch);
		return false;
	}
	BIO_set_callback_ex(out, on_output);
	BIO_set_callback_arg(out, (char *)t);
	SSL_set_msg_callback(ssl, on_tls_message);
	SSL_set_msg_callback_arg(ssl, t);
	SSL_set0_rbio(ssl, in);
	SSL_set0_wbio(ssl, BIO_push(batch, out));
	return true;
}

struct tls *tls_new(struct tls_context *c, int fd, const char *name)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t) {
		SSL_CTX *now = tls_context_get(c, &t->generation);

		t->context = c;
		t->fd = t->input.fd = fd;
		t->turn = name ? TLS_TURN : TLS_TURN_ANSWERING;
		t->ssl = SSL_new(now); /* takes a reference to now */
		SSL_CTX_free(now);
	}
	if (!t || !t->ssl || !join(t)) {
		if (t)
			SSL_free(t->ssl);
		free(t);
		close(fd);
		return NULL;
	}
	X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), wall_time());
	if (!name) {
		SSL_set_accept_state(t->ssl);
		return t;
	}
	SSL_set_connect_state(t->ssl);
	SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_WILDCARDS);
	if (SSL_set1_host(t->ssl, name) != 1) {
		tls_free(t);
		return NULL;
	}
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	tls_input_end(&t->input);
	close(t->fd);
	free(t);
}

void tls_shutdown(struct tls *t)
{
	ERR_clear_error();
	if (SSL_is_init_finished(t->ssl))
		SSL_shutdown(t->ssl);
}

static int failed(struct tls *t, int error, const char *text)
{
	snprintf(t->error, sizeof(t->error), "%s", text);
	return error;
}

static bool is_alert(void)
{
	unsigned long code = ERR_peek_last_error();

	return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET;
}

static int refused_by_peer(struct tls *t)
{
	int alert = ERR_GET_REASON(ERR_peek_last_error()) - SSL_AD_REASON_OFFSET;

	snprintf(t->error, sizeof(t->error), "the other host refuses this host: %s",
		 SSL_alert_desc_string_long(alert));
	return -EACCES;
}

/* Converts the result r <= 0 of an SSL function to -EAGAIN, another errno (tls_error() is set), or
 * 0:  the peer has closed the connection in order. */
static int judge(struct tls *t, int r)
{
	int saved = errno;
	long verified = SSL_get_verify_result(t->ssl);

	switch (SSL_get_error(t->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		t->wants = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return failed(t, 0, "closed by the peer");
	case SSL_ERROR_SYSCALL:
		/* OpenSSL changed keys, and had to send.  It then asks a BIO before ours whether to
		 * try again, which does not know. */
		if (SSL_want_write(t->ssl) && BIO_should_retry(SSL_get_wbio(t->ssl))) {
			t->wants = POLLOUT;
			return -EAGAIN;
		}
		if (saved == 0)
			return failed(t, -ECONNRESET, "the connection broke off");
		return failed(t, -ECONNRESET, strerror(saved));
	default:
		if (is_alert())
			return refused_by_peer(t);
		if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
			return failed(t, -ECONNRESET, "the connection broke off");
		if (verified != X509_V_OK)
			return failed(t, -EACCES, X509_verify_cert_error_string(verified));
		return failed(t, -EPROTO, tls_openssl_error());
	}
}

static void begin(struct tls *t)
{
	ERR_clear_error();
	errno = 0;
	t->wants = 0;
}

static time_t end_of(const X509 *certificate)
{
	struct tm tm;

	return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1 ? timegm(&tm) : 0;
}

int tls_handshake(struct tls *t)
{
	int r;

	begin(t);
	tls_begin_turn(t);
	r = SSL_do_handshake(t->ssl);
	if (r == 1) {
		t->expires = end_of(SSL_get0_peer_certificate(t->ssl));
		return 1;
	}
	r = judge(t, r);
	if (t->input.at_frame)
		return failed(t, -EPROTO, "a frame within the handshake");
	if (r == -EAGAIN)
		return 0;
	return r ? r : -ECONNRESET;
}

bool tls_is_named(const struct tls *t, const char *name)
{
	return tls_certificate_is_for(SSL_get0_peer_certificate(t->ssl), name);
}

static int verify(struct tls *t, X509_STORE_CTX *v)
{
	X509_STORE_CTX_set_time(v, 0, wall_time());
	if (X509_verify_cert(v) == 1)
		return 0;
	return failed(t, -EACCES, X509_verify_cert_error_string(X509_STORE_CTX_get_error(v)));
}

/* Checks the peer's certificate as in the handshake, but with the present credentials. */
static int judge_peer(struct tls *t, SSL_CTX *now)
{
	X509_STORE_CTX *v = X509_STORE_CTX_new();
	X509 *peer = SSL_get0_peer_certificate(t->ssl);
	int r;

	if (!v ||
	    X509_STORE_CTX_init(v, SSL_CTX_get_cert_store(now), peer,
				SSL_get_peer_cert_chain(t->ssl)) != 1 ||
	    X509_STORE_CTX_set_default(v, SSL_is_server(t->ssl) ? "ssl_client" : "ssl_server") != 1)
		r = failed(t, -ENOMEM, "out of memory");
	else
		r = verify(t, v);
	X509_STORE_CTX_free(v);
	return r;
}

int tls_recheck(struct tls *t)
{
	uint64_t generation;
	SSL_CTX *now = tls_context_get(t->context, &generation);
	int r = 0;

	if (generation != t->generation || wall_time() >= t->expires)
		r = judge_peer(t, now);
	t->generation = generation;
	SSL_CTX_free(now);
	return r;
}

ssize_t tls_read(struct tls *t, void *bytes, size_t length)
{
	size_t got;
	int r;

	begin(t);
	r = SSL_read_ex(t->ssl, bytes, length, &got);
	if (t->key_updates > MAX_KEY_UPDATES)
		return failed(t, -EPROTO, "too many changes of keys");
	return r == 1 ? (ssize_t)got : judge(t, r);
}

ssize_t tls_write(struct tls *t, const void *bytes, size_t length)
{
	size_t put;
	int r;

	begin(t);
	r = SSL_write_ex(t->ssl, bytes, length, &put);
	if (r == 1)
		return (ssize_t)put;
	r = judge(t, r);
	return r ? r : -ECONNRESET;
}

int tls_flush(struct tls *t)
{
	BIO *out = SSL_get_wbio(t->ssl);

	begin(t);
	if (BIO_flush(out) > 0)
		return 0;
	if (!BIO_should_retry(out))
		return failed(t, -ECONNRESET, errno ? strerror(errno) : "the connection broke off");
	t->wants = POLLOUT;
	return -EAGAIN;
}

bool tls_is_flushed(const struct tls *t)
{
	return BIO_wpending(SSL_get_wbio(t->ssl)) == 0;
}

/* ---- frames -------------------------------------------------------------------------- */

bool tls_expect_frames(struct tls *t)
{
	return tls_input_track(&t->input);
}

bool tls_is_at_frame(const struct tls *t)
{
	return t->input.at_frame;
}

ssize_t tls_take(struct tls *t, void *bytes, size_t length)
{
	ssize_t n = tls_input_take(&t->input, bytes, length);

	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return failed(t, -ECONNRESET, n ? strerror(errno) : "the connection broke off");
}

void tls_take_end(struct tls *t)
{
	t->input.at_frame = false;
}

int tls_begin_frame(struct tls *t)
{
	int r = tls_is_flushed(t) ? 0 : tls_flush(t);

	t->in_frame = r == 0;
	return r;
}

ssize_t tls_put(struct tls *t, const struct iovec *parts, unsigned count)
{
	struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
	ssize_t n = sendmsg(t->fd, &m, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return -EAGAIN;
	return failed(t, -ECONNRESET, strerror(errno));
}

void tls_end_frame(struct tls *t)
{
	t->in_frame = false;
}

int tls_fd(const struct tls *t)
{
	return t->fd;
}

short tls_wants(const struct tls *t)
{
	return t->wants;
}

const char *tls_error(const struct tls *t)
{
	return t->error;
}

int tls_export(struct tls *t, const char *label, uint8_t *secret, size_t length)
{
	int r = SSL_export_keying_material(t->ssl, secret, length, label, strlen(label), NULL, 0,
					   0);

	return r == 1 ? 0 : -EIO;
}
