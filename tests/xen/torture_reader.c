// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * torture-reader - the readers of a torture test, in a guest, through /dev/vread.
 * shared/test_torture.py runs it.
 *
 *   torture-reader READERS SEED STORAGE
 *
 * Takes torture-owner's ledger from standard input, and reads blocks that the ledger names, until
 * standard input ends. Then prints counts as JSON: verdicts on bytes, and errors of opens and of
 * reads. Exit status 1 if a byte was wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../image/torture_counts.h"
#include "vread.h"

#define FILES 8U
#define MAX_READERS 64U
#define POOL_BYTES (256U << 10)
#define REOPEN 64U /* reads before a file is closed, on average */

static _Atomic(uint64_t) slots[TORTURE_SLOTS];
static _Atomic(uint64_t) notes;
static struct torture_counts counts;
static atomic_bool stop;
static const char *storage; /* that has the blocks */

struct open_block {
	struct vread_file *file;
	uint32_t id;
	unsigned version;
	uint64_t length;
};

struct reader {
	struct vread *connection;
	uint64_t random;
	struct open_block blocks[FILES];
	uint8_t buffer[128U << 10];
};

static void open_one(struct reader *r, struct open_block *b)
{
	uint64_t is = atomic_load(&slots[torture_random(&r->random) % TORTURE_SLOTS]);
	struct vread_block name = {
		.pool_id = TORTURE_POOL,
		.storage_ids = &storage,
		.num_storage_ids = 1,
	};
	struct vread_stat stat;
	int error;

	if (!is)
		return;
	b->id = (uint32_t)(is >> 32);
	b->version = (uint32_t)is;
	name.block_id = b->id;
	name.generation_stamp = TORTURE_FIRST_STAMP + b->version;
	error = vread_open(r->connection, &name, &b->file);
	if (error == 0) {
		error = vread_stat(b->file, &stat);
		b->length = stat.visible_length;
		if (error < 0)
			vread_close(b->file);
	}
	torture_count_open(&counts, error);
	if (error < 0)
		b->file = NULL;
}

static void read_one(struct reader *r, struct open_block *b)
{
	uint64_t units = b->length / TORTURE_UNIT;
	uint64_t offset = units ? torture_random(&r->random) % units * TORTURE_UNIT : 0;
	size_t length =
		torture_random(&r->random) % sizeof(r->buffer) / TORTURE_UNIT * TORTURE_UNIT;
	ssize_t n = vread_pread(b->file, r->buffer, length, offset);

	torture_count_read(&counts, b->id, b->version, offset, r->buffer, n);
	if (n < 0 || torture_random(&r->random) % REOPEN == 0) {
		vread_close(b->file);
		b->file = NULL;
	}
}

static void *read_blocks(void *arg)
{
	struct reader *r = arg;

	while (!atomic_load(&stop)) {
		struct open_block *b = &r->blocks[torture_random(&r->random) % FILES];

		if (b->file)
			read_one(r, b);
		else
			open_one(r, b);
	}
	for (unsigned i = 0; i < FILES; i++)
		if (r->blocks[i].file)
			vread_close(r->blocks[i].file);
	return NULL;
}

static void follow_ledger(void)
{
	unsigned slot;
	uint64_t id, version;

	while (scanf("%u %" SCNu64 " %" SCNu64, &slot, &id, &version) == 3) {
		if (slot >= TORTURE_SLOTS)
			continue;
		atomic_store(&slots[slot], id << 32 | version);
		atomic_fetch_add(&notes, 1);
	}
}

static struct reader *new_reader(uint64_t seed)
{
	struct vread_options options = {.pool_bytes = POOL_BYTES, .timeout_ms = 60000};
	struct reader *r = calloc(1, sizeof(*r));
	int error = r ? vread_connect(&r->connection, &options) : -ENOMEM;

	if (error < 0) {
		fprintf(stderr, "torture-reader: %s\n", vread_strerror(error));
		exit(2);
	}
	r->random = torture_mix(seed);
	return r;
}

int main(int argc, char **argv)
{
	struct reader *readers[MAX_READERS];
	pthread_t threads[MAX_READERS];
	unsigned count = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
	char read[40];

	if (count == 0 || count > MAX_READERS) {
		fputs("usage: torture-reader READERS SEED STORAGE\n", stderr);
		return 2;
	}
	storage = argv[3];
	for (unsigned i = 0; i < count; i++) {
		readers[i] = new_reader((uint64_t)atoll(argv[2]) + i);
		if (pthread_create(&threads[i], NULL, read_blocks, readers[i]))
			return 2;
	}
	follow_ledger();
	atomic_store(&stop, true);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		vread_disconnect(readers[i]->connection);
		free(readers[i]);
	}
	snprintf(read, sizeof(read), "\"notes\": %" PRIu64 ", ", atomic_load(&notes));
	return torture_counts_print(&counts, read) ? 0 : 1;
}
