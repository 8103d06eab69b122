/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steady-reader - reads blocks in a guest as Hadoop's plug-in does, while tests stop, save or
 * migrate the guest or take away its device. steady.py runs it.
 *
 *   steady-reader LIST COPY
 *
 * LIST has one block a line: POOL/blk_ID_GS@STORAGE:LENGTH; @STORAGE may be left out. COPY has the
 * bytes of all blocks, one after the other.
 *
 * The program reads all blocks again and again, piece by piece, through /dev/vread. It compares
 * each piece in the memory where the backend put it: when the piece arrives, and again when the
 * next piece has arrived. A piece must not change until it is released, whatever happens to the
 * guest.
 *
 * If vRead refuses or fails, the rest of the block counts as read the other way (COPY), and the
 * next block is again read through vRead. While one block is read, the next block is open already,
 * so the end of a connection always makes a read fail, whenever it comes.
 *
 * After each round, and at SIGTERM, prints the counts so far as a line of JSON. Exit status 1 if a
 * byte was wrong or changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vread.h"

#define MAX_BLOCKS 64U
#define MAX_ERRORS 140
#define PIECE (64U << 10)
#define POOL_BYTES (1U << 20)
#define TIMEOUT_MS 30000    /* emulated hosts are slow, slower if the machine is busy */
#define OTHER_WAY_US 20000U /* time that a block takes by the other way */

struct listed {
	char pool[200], storage[200];
	struct vread_block name;
	uint64_t start; /* in COPY */
};

static struct listed blocks[MAX_BLOCKS];
static unsigned num_blocks;
static const uint8_t *copy;
static struct vread *connection;
static struct vread_file *next_file; /* the next block; NULL: not open */
static struct vread_completion held; /* the last piece, not released yet; data is NULL: none */
static uint64_t rounds, by_vread, other_way, wrong, changed, slowest_ms;
static uint64_t errors[MAX_ERRORS];
static volatile sig_atomic_t stop;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void report(void)
{
	const char *comma = "";

	printf("{\"rounds\": %" PRIu64 ", \"by_vread\": %" PRIu64 ", \"other_way\": %" PRIu64
	       ", \"wrong\": %" PRIu64 ", \"changed\": %" PRIu64 ", \"slowest_ms\": %" PRIu64
	       ", \"errors\": {",
	       rounds, by_vread, other_way, wrong, changed, slowest_ms);
	for (int i = 1; i < MAX_ERRORS; i++) {
		if (!errors[i])
			continue;
		printf("%s\"%s\": %" PRIu64, comma, strerrorname_np(i), errors[i]);
		comma = ", ";
	}
	puts("}}");
	fflush(stdout);
}

/* Records the time of a call that began at start, and its error. Returns result. */
static int64_t noted(uint64_t start, int64_t result)
{
	uint64_t took = now_ms() - start;

	if (took > slowest_ms)
		slowest_ms = took;
	if (result < 0)
		errors[-result]++;
	return result;
}

/* A connection does not come back after its device was taken away. Makes a new one then. No file
 * may be open. */
static bool connected(void)
{
	static const struct vread_options options = {.pool_bytes = POOL_BYTES,
						     .timeout_ms = TIMEOUT_MS};

	if (connection && !vread_connected(connection)) {
		vread_disconnect(connection);
		connection = NULL;
	}
	return connection || noted(now_ms(), vread_connect(&connection, &options)) == 0;
}

static bool right(const struct vread_completion *c, const struct listed *b)
{
	return memcmp(c->data, copy + b->start + c->offset, (size_t)c->result) == 0;
}

static void release_held(const struct listed *b)
{
	if (!held.data)
		return;
	if (!right(&held, b))
		changed++;
	vread_release(connection, &held);
	held.data = NULL;
}

/* Reads and checks the piece at offset. Returns its length, or a negative errno. */
static int64_t read_piece(const struct listed *b, struct vread_file *file, uint64_t offset)
{
	struct vread_completion c;
	uint64_t start = now_ms();
	int r = vread_submit(file, offset, PIECE, NULL);

	if (r == 0)
		r = vread_reap(connection, &c, 1, TIMEOUT_MS);
	if (r != 1)
		return noted(start, r ?: -ETIME);
	if (noted(start, c.result) < 0) {
		vread_release(connection, &c);
		return c.result;
	}
	if (!right(&c, b))
		wrong++;
	release_held(b);
	held = c;
	return c.result;
}

/* NULL: the block cannot be opened. */
static struct vread_file *open_block(const struct listed *b)
{
	struct vread_file *file;

	return noted(now_ms(), vread_open(connection, &b->name, &file)) < 0 ? NULL : file;
}

/* Reads b, and opens next meanwhile. Returns how many bytes of b came by vRead. */
static uint64_t read_block(const struct listed *b, const struct listed *next)
{
	struct vread_file *file = next_file;
	uint64_t done = 0;
	int64_t n = 1;

	next_file = NULL;
	if (!file && connected())
		file = open_block(b);
	if (!file)
		return 0;
	next_file = open_block(next);
	while (done < b->name.visible_length && n > 0 && !stop) {
		n = read_piece(b, file, done);
		done += n > 0 ? (uint64_t)n : 0;
	}
	release_held(b);
	vread_close(file);
	return done;
}

static void read_all(void)
{
	for (unsigned i = 0; i < num_blocks && !stop; i++) {
		uint64_t done = read_block(&blocks[i], &blocks[(i + 1) % num_blocks]);

		by_vread += done;
		if (done == blocks[i].name.visible_length)
			continue;
		other_way += blocks[i].name.visible_length - done;
		usleep(OTHER_WAY_US);
	}
	rounds++;
}

static bool take_line(const char *line, uint64_t *end)
{
	static const char *storages[MAX_BLOCKS];
	struct listed *b = &blocks[num_blocks];
	struct vread_block *n = &b->name;
	int at = 0;

	if (num_blocks == MAX_BLOCKS ||
	    sscanf(line, "%199[^/]/blk_%" SCNd64 "_%" SCNu64 "%n", b->pool, &n->block_id,
		   &n->generation_stamp, &at) != 3)
		return false;
	if (sscanf(line + at, "@%199[^:]:%" SCNu64, b->storage, &n->visible_length) == 2) {
		storages[num_blocks] = b->storage;
		n->storage_ids = &storages[num_blocks];
		n->num_storage_ids = 1;
	} else if (sscanf(line + at, ":%" SCNu64, &n->visible_length) != 1) {
		return false;
	}
	n->pool_id = b->pool;
	b->start = *end;
	*end += n->visible_length;
	num_blocks++;
	return true;
}

/* Reads the list of blocks. Returns the total length of the blocks. */
static uint64_t take_list(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];
	uint64_t end = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!take_line(line, &end)) {
			fprintf(stderr, "steady-reader: %s: %s", path, line);
			exit(2);
		}
	if (file)
		fclose(file);
	return end;
}

static void map_copy(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size != bytes || !bytes) {
		fprintf(stderr, "steady-reader: %s: expected %" PRIu64 " bytes\n", path, bytes);
		exit(2);
	}
	copy = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (copy == MAP_FAILED) {
		perror(path);
		exit(2);
	}
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: steady-reader LIST COPY\n", stderr);
		return 2;
	}
	map_copy(argv[2], take_list(argv[1]));
	signal(SIGTERM, on_signal);
	while (!stop) {
		read_all();
		report();
	}
	vread_close(next_file);
	vread_disconnect(connection);
	return wrong || changed ? 1 : 0;
}
