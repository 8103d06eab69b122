/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vreadbench.c - reads HDFS blocks through libvread, once, in order.  The bench suites run it,
 * natively and in client domUs.
 *
 *   vreadbench [-e ENDPOINT] [-a read|pread|async|open|hold|latency] [-n COUNT] [-q QUEUES]
 *              [-r REQUEST] [-b] [-s] < BLOCKS
 *
 * BLOCKS: lines POOL/blk_ID_GENSTAMP[@STORAGE]:LENGTH.  Every block is opened, read to its
 * end and closed.  The time includes all three, but not connecting: it begins with the first
 * line.
 *
 *   read    vread_read() into one page-aligned buffer of REQUEST bytes: as a sequential
 *           reader does, with the contract of read(2)
 *   pread   vread_pread() likewise, one call at a time: no read-ahead
 *   async   vread_submit()/vread_reap(): no copy.  Reads every byte in place, because
 *           otherwise nothing would be measured
 *   open    opens and closes each block; prints the microseconds of each open at once, on a
 *           line of its own
 *   hold    one vread_pread() in each block, which stays open; prints a line when it is done
 *   latency COUNT calls of vread_pread() in each block, at random multiples of REQUEST, the same
 *           ones in each run; prints the microseconds of each call, on a line of its own
 *
 * -s also sums up what read and pread return (for comparing, not for measuring).  -b: async does
 * not look at the bytes (for comparing with programs that do not either).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"
#include "vread.h"

#define ASYNC_POOL (8U << 20)
#define MAX_QUEUES 8
#define MAX_REQUEST (4U << 20) /* of one READ */
#define MAX_COUNT 1000000U
#define TIMEOUT_MS 60000 /* a busy machine or disk is slow */

struct bench {
	struct vread *connection;
	uint8_t *buffer;
	size_t request;
	unsigned count;
	bool summing, looking;
	uint64_t sum;
};

struct name {
	char pool[256], storage[128];
	const char *storages[1];
	struct vread_block block;
};

typedef int read_block(struct bench *b, struct vread_file *f, uint64_t length);

static int read_sequential(struct bench *b, struct vread_file *f, uint64_t length)
{
	for (uint64_t done = 0; done < length;) {
		ssize_t got = vread_read(f, b->buffer, b->request);

		if (got <= 0)
			return got ? (int)got : -ERANGE;
		if (b->summing)
			b->sum = measure_sum(b->sum, b->buffer, (size_t)got);
		done += (uint64_t)got;
	}
	return 0;
}

static int read_positional(struct bench *b, struct vread_file *f, uint64_t length)
{
	for (uint64_t done = 0; done < length;) {
		ssize_t got = vread_pread(f, b->buffer, b->request, done);

		if (got <= 0)
			return got ? (int)got : -ERANGE;
		if (b->summing)
			b->sum = measure_sum(b->sum, b->buffer, (size_t)got);
		done += (uint64_t)got;
	}
	return 0;
}

/* Submits as much as there is room for and moves *next behind it.  0 or a negative errno. */
static int submit_ahead(struct bench *b, struct vread_file *f, uint64_t length, uint64_t *next)
{
	while (*next < length) {
		uint64_t left = length - *next;
		size_t n = left < b->request ? (size_t)left : b->request;
		int r = vread_submit(f, *next, n, NULL);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
		*next += n;
	}
	return 0;
}

static int read_async(struct bench *b, struct vread_file *f, uint64_t length)
{
	uint64_t next = 0, done = 0;

	while (done < length) {
		struct vread_completion c;
		int r = submit_ahead(b, f, length, &next);

		if (r < 0)
			return r;
		r = vread_reap(b->connection, &c, 1, TIMEOUT_MS);
		if (r <= 0)
			return r ? r : -ETIME;
		if (c.result <= 0)
			return c.result ? (int)c.result : -ERANGE;
		if (b->looking)
			b->sum += measure_touch(c.data, (size_t)c.result);
		done += (uint64_t)c.result;
		vread_release(b->connection, &c);
	}
	return 0;
}

/* For -a latency.  Prints behind the calls, so that a reader of the output delays none of them. */
static int read_at_random(struct bench *b, struct vread_file *f, uint64_t length)
{
	uint64_t places = length / b->request, state = 20150712;
	double *took = measure_buffer(b->count * sizeof(*took));

	if (places == 0)
		return -ERANGE;
	for (unsigned i = 0; i < b->count; i++) {
		double start = measure_now().seconds;
		ssize_t got;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		got = vread_pread(f, b->buffer, b->request, (state >> 33) % places * b->request);
		if (got != (ssize_t)b->request)
			return got < 0 ? (int)got : -ERANGE;
		took[i] = measure_now().seconds - start;
	}
	for (unsigned i = 0; i < b->count; i++)
		printf("%.1f\n", took[i] * 1e6);
	munmap(took, b->count * sizeof(*took));
	return 0;
}

/* For -a hold. */
static int read_and_hold(struct bench *b, struct vread_file *f, uint64_t length)
{
	ssize_t got = vread_pread(f, b->buffer, b->request < length ? b->request : length, 0);

	if (got <= 0)
		return got ? (int)got : -ERANGE;
	printf("held\n");
	fflush(stdout);
	return 0;
}

/* For -a open: nothing is read. */
static int read_nothing(struct bench *b, struct vread_file *f, uint64_t length)
{
	(void)b, (void)f, (void)length;
	return 0;
}

/* One line of BLOCKS. */
static bool parse_block(const char *line, struct name *n)
{
	const char *slash = strchr(line, '/');
	const char *at = strchr(line, '@'), *colon = strrchr(line, ':');
	size_t pool = slash ? (size_t)(slash - line) : 0;
	int used = 0;

	*n = (struct name){.block.pool_id = n->pool, .block.storage_ids = n->storages};
	if (pool == 0 || pool >= sizeof(n->pool) || !colon)
		return false;
	memcpy(n->pool, line, pool);
	if (sscanf(slash, "/blk_%" SCNd64 "_%" SCNu64 "%n", &n->block.block_id,
		   &n->block.generation_stamp, &used) != 2 ||
	    slash + used != (at ? at : colon))
		return false;
	if (at) {
		size_t storage = (size_t)(colon - at - 1);

		if (colon < at || storage == 0 || storage >= sizeof(n->storage))
			return false;
		memcpy(n->storage, at + 1, storage);
		n->storages[0] = n->storage;
		n->block.num_storage_ids = 1;
	}
	return sscanf(colon, ":%" SCNu64 "%n", &n->block.visible_length, &used) == 1 &&
	       colon[used] == '\0' && n->block.visible_length > 0;
}

/* Reads all blocks named on standard input; returns their bytes, or ends the program. */
static uint64_t read_blocks(struct bench *b, read_block *read_one)
{
	char line[1024];
	uint64_t bytes = 0;

	while (fgets(line, sizeof(line), stdin)) {
		struct name n;
		struct vread_file *f;
		struct measure start;
		int r;

		line[strcspn(line, "\n")] = '\0';
		if (!parse_block(line, &n)) {
			fprintf(stderr, "%s: expected POOL/blk_ID_GENSTAMP[@STORAGE]:LENGTH\n",
				line);
			exit(2);
		}
		start = measure_now();
		r = vread_open(b->connection, &n.block, &f);
		if (r == 0 && read_one == read_nothing) {
			printf("%.1f\n", (measure_now().seconds - start.seconds) * 1e6);
			fflush(stdout);
		}
		if (r == 0) {
			r = read_one(b, f, n.block.visible_length);
			if (read_one != read_and_hold)
				vread_close(f);
		}
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", line, vread_strerror(r));
			exit(1);
		}
		bytes += n.block.visible_length;
	}
	return bytes;
}

static read_block *api_named(const char *name)
{
	if (!strcmp(name, "read"))
		return read_sequential;
	if (!strcmp(name, "pread"))
		return read_positional;
	if (!strcmp(name, "async"))
		return read_async;
	if (!strcmp(name, "open"))
		return read_nothing;
	if (!strcmp(name, "hold"))
		return read_and_hold;
	if (!strcmp(name, "latency"))
		return read_at_random;
	fprintf(stderr, "-a %s: expected read, pread, async, open, hold or latency\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	struct vread_options options = {.timeout_ms = TIMEOUT_MS};
	struct bench b = {.request = 1U << 20, .count = 1000, .looking = true};
	read_block *read_one = read_sequential;
	struct measure start;
	uint64_t bytes;
	int opt, r;

	while ((opt = getopt(argc, argv, "a:be:n:q:r:s")) != -1) {
		if (opt == 'a')
			read_one = api_named(optarg);
		else if (opt == 'e')
			options.endpoint = optarg;
		else if (opt == 'n')
			b.count = (unsigned)measure_count("-n", optarg, MAX_COUNT);
		else if (opt == 'q')
			options.queues = (unsigned)measure_count("-q", optarg, MAX_QUEUES);
		else if (opt == 'b')
			b.looking = false;
		else if (opt == 'r')
			b.request = measure_count("-r", optarg, MAX_REQUEST);
		else if (opt == 's')
			b.summing = true;
		else
			return 2;
	}
	if (read_one == read_async)
		options.pool_bytes = ASYNC_POOL;
	r = vread_connect(&b.connection, &options);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n",
			options.endpoint ? options.endpoint : "default endpoint",
			vread_strerror(r));
		return 1;
	}
	b.buffer = measure_buffer(b.request);
	ungetc(getchar(), stdin);
	start = measure_now();
	bytes = read_blocks(&b, read_one);
	if (read_one == read_sequential || read_one == read_positional || read_one == read_async)
		measure_print(start, bytes, b.sum);
	if (read_one != read_and_hold) /* whose blocks are open until the process ends */
		vread_disconnect(b.connection);
	return 0;
}
