// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tls_input.c - gives OpenSSL the bytes of a socket, and keeps frames from OpenSSL.
 *
 * Called by tls.c (tls_input.h).
 *
 * The length of a record is in its header, which is not encrypted.  So this code knows where a
 * record ends, and never gives OpenSSL a byte behind the end while it looks for frames.  Someone
 * who changes headers on the way gains nothing: OpenSSL authenticates the header with the record,
 * and a frame has a MAC.
 *
 * A turn ends only when the buffer is empty but for the beginning of a header: poll() on the socket
 * does not report bytes that are in the buffer.
 */
#include "peer/wire/tls_input.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "peer/wire/plain.h"

#define RECORD_HEADER SSL3_RT_HEADER_LENGTH
/* A frame has up to 1 MiB, so copying its beginning out of this buffer costs little. */
#define BUFFER SSL3_RT_MAX_PACKET_SIZE

static pthread_once_t made = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

static ssize_t receive(struct tls_input *in, void *bytes, size_t length)
{
	ssize_t n;

	if (in->taken >= in->turn_ends) {
		errno = EAGAIN;
		return -1;
	}
	n = recv(in->fd, bytes, length, 0);
	if (n > 0)
		in->taken += (uint64_t)n;
	else if (n == 0)
		in->ended = true;
	return n;
}

static size_t from_buffer(struct tls_input *in, void *bytes, size_t length)
{
	size_t n = in->filled - in->at;

	if (n > length)
		n = length;
	memcpy(bytes, in->buffer + in->at, n);
	in->at += n;
	return n;
}

ssize_t tls_input_take(struct tls_input *in, void *bytes, size_t length)
{
	return in->at < in->filled ? (ssize_t)from_buffer(in, bytes, length)
				   : receive(in, bytes, length);
}

/* Looks at what comes next: a record or a frame.  Returns as recv(): -1 with EAGAIN at a frame. */
static ssize_t begin_record(struct tls_input *in)
{
	ssize_t n;

	memmove(in->buffer, in->buffer + in->at, in->filled - in->at);
	in->filled -= in->at;
	in->at = 0;
	while (in->filled < RECORD_HEADER && !(in->filled && in->buffer[0] == PLAIN_MARK)) {
		n = receive(in, in->buffer + in->filled, BUFFER - in->filled);
		if (n <= 0)
			return n;
		in->filled += (size_t)n;
	}
	in->at_frame = in->buffer[0] == PLAIN_MARK;
	if (in->at_frame) {
		errno = EAGAIN;
		return -1;
	}
	in->record_left = RECORD_HEADER + ((size_t)in->buffer[3] << 8 | in->buffer[4]);
	return 1;
}

static ssize_t read_record(struct tls_input *in, void *bytes, size_t length)
{
	ssize_t n = 1;

	if (in->at_frame) {
		errno = EAGAIN;
		return -1;
	}
	if (!in->record_left)
		n = begin_record(in);
	if (n > 0)
		n = tls_input_take(in, bytes, length < in->record_left ? length : in->record_left);
	if (n > 0)
		in->record_left -= (size_t)n;
	return n;
}

/* ---- the BIO ----------------------------------------------------------------------- */

static int on_read(BIO *bio, char *bytes, int length)
{
	struct tls_input *in = BIO_get_data(bio);
	ssize_t n = in->buffer ? read_record(in, bytes, (size_t)length)
			       : receive(in, bytes, (size_t)length);

	BIO_clear_retry_flags(bio);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	return (int)n;
}

static long on_control(BIO *bio, int command, long number, void *pointer)
{
	const struct tls_input *in = BIO_get_data(bio);

	(void)number, (void)pointer;
	switch (command) {
	case BIO_CTRL_EOF:
		return in->ended;
	case BIO_CTRL_FLUSH:
		return 1;
	default:
		return 0;
	}
}

static void make_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vread input");

	if (m && BIO_meth_set_read(m, on_read) == 1 && BIO_meth_set_ctrl(m, on_control) == 1)
		method = m;
	else
		BIO_meth_free(m);
}

BIO *tls_input_bio(struct tls_input *in)
{
	BIO *bio;

	pthread_once(&made, make_method);
	bio = method ? BIO_new(method) : NULL;
	if (!bio)
		return NULL;
	BIO_set_data(bio, in);
	BIO_set_init(bio, 1);
	return bio;
}

bool tls_input_track(struct tls_input *in)
{
	in->buffer = malloc(BUFFER);
	return in->buffer;
}

void tls_input_end(struct tls_input *in)
{
	free(in->buffer);
}
