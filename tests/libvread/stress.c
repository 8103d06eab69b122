/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stress - reads with many threads on one connection, and compares every byte.
 * test_libvread_threads.py builds it with ThreadSanitizer and runs it.
 *
 *   stress ENDPOINT POOL BLOCK-ID GENSTAMP STORAGE REFERENCE THREADS ROUNDS [event|queues]
 *
 * REFERENCE is a file with the block's bytes. With "event" the connection's event descriptor is in
 * use, too. With "queues" the connection has three rings.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vread.h"

#define LARGEST 400000
#define PIECE 65536

static struct vread *connection;
static struct vread_file *shared;
static struct vread_block block;
static unsigned char *reference;
static size_t length;
static int rounds;
static atomic_bool done;

__attribute__((noreturn)) static void fail(const char *what, long result)
{
	fprintf(stderr, "%s: %ld (%s)\n", what, result, vread_strerror((int)result));
	exit(1);
}

static void expect(const char *what, ssize_t result, const void *data, uint64_t offset, size_t n)
{
	if (result != (ssize_t)n || memcmp(data, reference + offset, n) != 0)
		fail(what, result);
}

static struct vread_file *open_file(void)
{
	struct vread_file *f;
	int r = vread_open(connection, &block, &f);

	if (r)
		fail("vread_open", r);
	return f;
}

static size_t random_length(unsigned *seed, size_t offset)
{
	size_t n = (size_t)rand_r(seed) % (rand_r(seed) % 3 ? LARGEST : 100) + 1;

	return n < length - offset ? n : length - offset;
}

static void vectored(struct vread_file *f, unsigned char *buf, size_t offset, size_t n)
{
	struct vread_range ranges[] = {
		{.offset = offset, .length = n, .buf = buf},
		{.offset = 0, .length = 100, .buf = buf + LARGEST},
	};
	int r = vread_preadv(f, ranges, 2);

	if (r)
		fail("vread_preadv", r);
	expect("range 0", ranges[0].result, buf, offset, n);
	expect("range 1", ranges[1].result, buf + LARGEST, 0, 100);
}

static void sequential(struct vread_file *f, unsigned char *buf)
{
	for (int i = 0; i < 8; i++) {
		int64_t at = vread_seek(f, 0, SEEK_CUR);
		size_t left = length - (size_t)at;

		expect("vread_read", vread_read(f, buf, 4096), buf, (uint64_t)at,
		       left < 4096 ? left : 4096);
	}
}

static void one_round(struct vread_file *own, unsigned char *buf, unsigned *seed)
{
	size_t offset = (size_t)rand_r(seed) % length, n = random_length(seed, offset);
	int r;

	switch (rand_r(seed) % 6) {
	case 0:
		expect("vread_pread", vread_pread(own, buf, n, offset), buf, offset, n);
		return;
	case 1:
		expect("shared vread_pread", vread_pread(shared, buf, n, offset), buf, offset, n);
		return;
	case 2:
		vread_seek(own, (int64_t)offset, SEEK_SET);
		expect("vread_read behind vread_seek", vread_read(own, buf, n), buf, offset, n);
		return;
	case 3:
		sequential(own, buf);
		return;
	case 4:
		vectored(own, buf, offset, n);
		return;
	default:
		r = vread_update(own);
		if (r)
			fail("vread_update", r);
	}
}

static void *synchronous(void *argument)
{
	unsigned seed = *(unsigned *)argument;
	unsigned char *buf = malloc(LARGEST + 100);
	struct vread_file *own = open_file();

	for (int i = 0; i < rounds; i++)
		one_round(own, buf, &seed);
	vread_close(own);
	free(buf);
	return NULL;
}

static void *asynchronous(void *argument)
{
	struct vread_file *f = open_file();
	struct vread_completion completions[4];
	unsigned seed = 1;
	int in_flight = 0;

	(void)argument;
	while (!done || in_flight) {
		size_t offset = (size_t)rand_r(&seed) % (length - PIECE);
		int n;

		if (!done && vread_submit(f, offset, PIECE, NULL) == 0)
			in_flight++;
		n = vread_reap(connection, completions, 4, in_flight ? 5 : 0);
		for (int i = 0; i < n; i++, in_flight--) {
			expect("vread_reap", completions[i].result, completions[i].data,
			       completions[i].offset, PIECE);
			vread_release(connection, &completions[i]);
		}
	}
	vread_close(f);
	return NULL;
}

static void load_reference(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		fail(path, -1);
	length = (size_t)st.st_size;
	reference = malloc(length);
	if (!reference || fread(reference, 1, length, file) != length)
		fail(path, -1);
	fclose(file);
}

static void run(unsigned threads)
{
	pthread_t thread[threads], reaper;
	unsigned seeds[threads];

	pthread_create(&reaper, NULL, asynchronous, NULL);
	for (unsigned i = 0; i < threads; i++) {
		seeds[i] = i + 1;
		pthread_create(&thread[i], NULL, synchronous, &seeds[i]);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	done = true;
	pthread_join(reaper, NULL);
}

int main(int argc, char **argv)
{
	struct vread_options options = {.pool_bytes = 1 << 20, .timeout_ms = 30000};
	int r;

	if (argc < 9)
		return 2;
	options.endpoint = argv[1];
	block.pool_id = argv[2];
	block.block_id = atoll(argv[3]);
	block.generation_stamp = (uint64_t)atoll(argv[4]);
	block.storage_ids = (const char *const *)&argv[5];
	block.num_storage_ids = 1;
	load_reference(argv[6]);
	rounds = atoi(argv[8]);
	if (argc > 9 && !strcmp(argv[9], "queues"))
		options.queues = 3;
	r = vread_connect(&connection, &options);
	if (r)
		fail("vread_connect", r);
	if (argc > 9 && !options.queues && vread_event_fd(connection) < 0)
		fail("vread_event_fd", -1);
	shared = open_file();
	run((unsigned)atoi(argv[7]));
	vread_close(shared);
	vread_disconnect(connection);
	free(reference);
	puts("ok");
	return 0;
}
