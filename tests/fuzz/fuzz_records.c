// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what another host sends between and within records of TLS: the split into records, which
 * OpenSSL gets, and frames, which it does not get (peer/wire/tls_input.c).
 *
 * The first byte of the input says in which pieces the bytes are taken.  Every byte must come once,
 * in order, and nobody may get a byte behind the record that is being read.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "peer/wire/plain.h"
#include "peer/wire/tls_input.h"

#define HEADER 5U
#define MAX_PIECE 97U
#define TURN 64U

struct stream {
	const uint8_t *sent;
	size_t size, got;  /* all that was sent; taken so far */
	size_t record_end; /* offset of the end of the present record */
	unsigned pieces;
};

static size_t next_piece(struct stream *s)
{
	s->pieces = s->pieces * 5 + 3;
	return 1 + s->pieces % MAX_PIECE;
}

static void take(struct stream *s, const uint8_t *bytes, size_t n)
{
	check(n <= s->size - s->got && memcmp(s->sent + s->got, bytes, n) == 0);
	s->got += n;
}

static void read_record(struct stream *s, BIO *bio)
{
	uint8_t bytes[MAX_PIECE];
	int n = BIO_read(bio, bytes, (int)next_piece(s));

	if (n <= 0)
		return;
	if (s->got == s->record_end) {
		const uint8_t *header = s->sent + s->got;

		check(s->size - s->got >= HEADER && header[0] != PLAIN_MARK);
		s->record_end += HEADER + ((size_t)header[3] << 8 | header[4]);
	}
	take(s, bytes, (size_t)n);
	check(s->got <= s->record_end);
}

/* Takes a part of what is called a frame here: its length is not looked at by tls_input.c. */
static void read_frame(struct stream *s, struct tls_input *in)
{
	uint8_t bytes[MAX_PIECE];
	ssize_t n;

	check(s->got == s->record_end);
	n = tls_input_take(in, bytes, next_piece(s));
	if (n <= 0)
		return;
	take(s, bytes, (size_t)n);
	s->record_end = s->got;
	in->at_frame = false;
}

static void run(struct stream *s, int fd)
{
	struct tls_input in = {.fd = fd};
	BIO *bio = tls_input_bio(&in);

	check(bio && tls_input_track(&in));
	while (!in.ended) {
		in.turn_ends = in.taken + TURN;
		if (in.at_frame)
			read_frame(s, &in);
		else
			read_record(s, bio);
	}
	BIO_free(bio);
	tls_input_end(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream s = {.sent = data + 1, .size = size - 1};
	int fds[2];

	if (size < 2)
		return 0;
	s.pieces = data[0];
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	check(write(fds[1], s.sent, s.size) == (ssize_t)s.size);
	close(fds[1]);
	run(&s, fds[0]);
	close(fds[0]);
	return 0;
}
