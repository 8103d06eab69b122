/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event loop over /dev/vread by libvread's event descriptor alone, as a program of epoll has it.
 *
 *   vread_events POOL ID GS STORAGE
 *
 * Reads the block with as many reads on their way as there is room for, and writes it to standard
 * output.  Then says on standard error, a word in a line:
 *
 *   quiet  reads are on their way, and their file is closed: the descriptor is not readable
 *   gone   the backend went away: the descriptor was readable, vread_reap() said -ENOTCONN, and the
 *          descriptor is not readable any more
 *   back   the descriptor was readable, few times in vain, and vread_reap() returned 0
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vread.h"

#define PIECE (64U << 10)
#define PATIENCE_MS 120000
#define MOST_LOOKS 16 /* in vain, while there is no backend */

static struct vread *connection;
static struct vread_block block;

__attribute__((noreturn)) static void fail(const char *what, long result)
{
	fprintf(stderr, "%s: %ld\n", what, result);
	exit(1);
}

static void say(const char *word)
{
	fprintf(stderr, "%s\n", word);
}

static void wait_readable(void)
{
	struct pollfd event = {.fd = vread_event_fd(connection), .events = POLLIN};

	if (poll(&event, 1, PATIENCE_MS) != 1)
		fail("the event descriptor is not readable", errno);
}

/* It may be readable without cause, but not for ever. */
static void wait_quiet(void)
{
	struct pollfd event = {.fd = vread_event_fd(connection), .events = POLLIN};
	struct vread_completion none;

	for (unsigned n = 0; poll(&event, 1, 0); n++) {
		if (n == 1000)
			fail("the event descriptor is readable without cause", n);
		vread_reap(connection, &none, 1, 0);
	}
}

static struct vread_file *open_block(void)
{
	struct vread_file *f;
	int r = vread_open(connection, &block, &f);

	if (r)
		fail("vread_open", r);
	return f;
}

/* Takes what is there.  Returns the bytes. */
static size_t take(char *bytes)
{
	struct vread_completion c[16];
	int n = vread_reap(connection, c, 16, 0);
	size_t got = 0;

	if (n < 0)
		fail("vread_reap", n);
	for (int i = 0; i < n; i++) {
		if (c[i].result <= 0)
			fail("a read", c[i].result);
		memcpy(bytes + c[i].offset, c[i].data, (size_t)c[i].result);
		got += (size_t)c[i].result;
		vread_release(connection, &c[i]);
	}
	return got;
}

static void read_block(struct vread_file *f, char *bytes, size_t length)
{
	size_t next = 0, done = 0;
	unsigned refused = 0;
	int r;

	while (done < length) {
		for (r = 0; next < length && !r; next += r ? 0 : PIECE)
			r = vread_submit(f, next, PIECE, NULL);
		if (r && r != -EAGAIN)
			fail("vread_submit", r);
		refused += r == -EAGAIN;
		wait_readable();
		done += take(bytes);
	}
	if (!refused)
		fail("reads that found no room", refused);
}

static void close_with_reads_on_their_way(struct vread_file *f)
{
	for (unsigned i = 0; i < 4; i++) {
		int r = vread_submit(f, (uint64_t)i * PIECE, PIECE, NULL);

		if (r)
			fail("vread_submit", r);
	}
	wait_readable();
	vread_close(f);
	wait_quiet();
	say("quiet");
}

static void lose_the_backend(void)
{
	struct vread_completion none;
	int r;

	do {
		wait_readable();
		r = vread_reap(connection, &none, 1, 0);
	} while (!r);
	if (r != -ENOTCONN)
		fail("vread_reap without a backend", r);
	wait_quiet();
	say("gone");
}

static void find_it_again(void)
{
	struct vread_completion none;
	unsigned looks = 0;
	int r;

	/* Each step towards the next backend may make it readable. */
	do {
		wait_readable();
		r = vread_reap(connection, &none, 1, 0);
	} while (r == -ENOTCONN && ++looks < MOST_LOOKS);
	if (r)
		fail("vread_reap with the next backend", r);
	if (!vread_connected(connection))
		fail("vread_connected", 0);
	say("back");
}

int main(int argc, char **argv)
{
	const struct vread_options options = {.pool_bytes = 8 * PIECE, .timeout_ms = PATIENCE_MS};
	const char *storages[1];
	struct vread_file *f;
	struct vread_stat stat;
	char *bytes;
	int r;

	if (argc != 5)
		return 2;
	storages[0] = argv[4];
	block = (struct vread_block){.pool_id = argv[1],
				     .block_id = strtoll(argv[2], NULL, 10),
				     .generation_stamp = strtoull(argv[3], NULL, 10),
				     .storage_ids = storages,
				     .num_storage_ids = 1};
	r = vread_connect(&connection, &options);
	if (r)
		fail("vread_connect", r);
	f = open_block();
	vread_stat(f, &stat);
	bytes = malloc(stat.visible_length);
	if (!bytes)
		fail("malloc", 0);
	read_block(f, bytes, stat.visible_length);
	if (write(STDOUT_FILENO, bytes, stat.visible_length) != (ssize_t)stat.visible_length)
		fail("write", errno);
	free(bytes);
	close_with_reads_on_their_way(f);
	lose_the_backend();
	find_it_again();
	vread_disconnect(connection);
	return 0;
}
