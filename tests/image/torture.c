// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * torture - one owner writes into a mounted file system as a datanode does, at full speed, while
 * readers read its blocks out of the image. torture_content.h says how the readers judge bytes.
 * test_torture.py runs it.
 *
 *   torture IMAGE MOUNT-POINT RIGHT DELETED READERS SEED
 *
 * Ends after RIGHT right reads and DELETED deleted blocks. Prints counts as JSON. Exit status 1 if
 * a byte was wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/block.h"
#include "read/checksum.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "policy/policy.h"
#include "torture_counts.h"
#include "torture_owner.h"

#define HANDLES 8U
#define LOOK_US 5000U /* time between two looks at the counts */

static struct torture_ledger ledger;
static struct torture_counts counts;
static atomic_bool stop;
static struct block_store *store;
static struct policy *policy;

struct own_arguments {
	const char *mount_point;
	uint64_t seed;
};

static void die(const char *what)
{
	fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void *own(void *arg)
{
	const struct own_arguments *a = arg;

	torture_own(&ledger, a->mount_point, a->seed, &stop);
	return NULL;
}

/* ---- readers --------------------------------------------------------------------------- */

struct open_block {
	struct block_handle *handle;
	uint32_t id;
	unsigned version;
	uint64_t length;
};

struct reader {
	uint64_t random;
	struct open_block blocks[HANDLES];
	uint8_t buffer[256U << 10];
};

static void open_one(struct reader *r, struct open_block *b)
{
	uint64_t is = atomic_load(&ledger.slots[torture_random(&r->random) % TORTURE_SLOTS]);
	struct block_name name = {.pool_id = TORTURE_POOL};
	struct block_info info;
	int error;

	if (!is)
		return;
	b->id = (uint32_t)(is >> 32);
	b->version = (uint32_t)is;
	name.block_id = b->id;
	name.genstamp = TORTURE_FIRST_STAMP + b->version;
	error = block_open(store, policy, &name, &b->handle, &info);
	torture_count_open(&counts, error);
	if (error < 0)
		b->handle = NULL;
	else
		b->length = info.length;
}

static void read_one(struct reader *r, struct open_block *b)
{
	uint64_t units = b->length / TORTURE_UNIT;
	uint64_t offset = units ? torture_random(&r->random) % units * TORTURE_UNIT : 0;
	uint32_t length = (uint32_t)(torture_random(&r->random) % sizeof(r->buffer)) /
			  TORTURE_UNIT * TORTURE_UNIT;
	uint32_t sum;
	ssize_t n = block_read(b->handle, offset, r->buffer, length, &sum);

	if (n >= 0 && sum != checksum_crc32c(r->buffer, (size_t)n)) {
		fprintf(stderr, "the CRC32C of a read is not that of its bytes\n");
		abort();
	}
	torture_count_read(&counts, b->id, b->version, offset, r->buffer, n);
	if (n < 0 || torture_random(&r->random) % 4096 == 0) {
		block_close(b->handle);
		b->handle = NULL;
	}
}

static void *read_blocks(void *arg)
{
	struct reader *r = arg;

	while (!atomic_load(&stop)) {
		struct open_block *b = &r->blocks[torture_random(&r->random) % HANDLES];

		if (b->handle)
			read_one(r, b);
		else
			open_one(r, b);
		if (torture_random(&r->random) % 16 == 0)
			usleep(500); /* leaves the owner its share of the processor */
	}
	for (unsigned i = 0; i < HANDLES; i++)
		block_close(r->blocks[i].handle);
	return NULL;
}

/* ---- the run ------------------------------------------------------------------------------ */

static void serve(const char *image)
{
	static const char *const dirs[] = {"/data"};
	const struct registry_disks disks = {.images = {&image, 1}};
	const char *problem;
	char *error;

	store = block_store_new();
	policy = policy_new(POLICY_CLIENT, "*", "*", &problem);
	if (!store || !policy || policy_set_unnamed(policy, "*") ||
	    registry_add_data_dirs(block_store_registry(store), "dn", &disks,
				   (struct registry_texts){dirs, 1}, &error) < 0)
		die("serving the image");
}

static void wait_for(uint64_t right, uint64_t deleted)
{
	while (atomic_load(&counts.verdicts[TORTURE_RIGHT]) < right ||
	       atomic_load(&ledger.deleted) < deleted)
		usleep(LOOK_US);
}

int main(int argc, char **argv)
{
	struct own_arguments arguments;
	struct reader *readers;
	pthread_t own_thread, threads[64];
	unsigned count;
	char owned[80];

	if (argc != 7) {
		fputs("usage: torture IMAGE MOUNT-POINT RIGHT DELETED READERS SEED\n", stderr);
		return 2;
	}
	arguments = (struct own_arguments){argv[2], (uint64_t)atoll(argv[6])};
	count = (unsigned)atoi(argv[5]);
	readers = calloc(count, sizeof(*readers));
	if (!readers || count > 64)
		die("readers");
	serve(argv[1]);
	pthread_create(&own_thread, NULL, own, &arguments);
	for (unsigned i = 0; i < count; i++) {
		readers[i].random = torture_mix(arguments.seed + i + 1);
		pthread_create(&threads[i], NULL, read_blocks, &readers[i]);
	}
	wait_for((uint64_t)atoll(argv[3]), (uint64_t)atoll(argv[4]));
	atomic_store(&stop, true);
	pthread_join(own_thread, NULL);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	block_store_free(store);
	policy_free(policy);
	free(readers);
	snprintf(owned, sizeof(owned), "\"owner\": %" PRIu64 ", \"deleted\": %" PRIu64 ", ",
		 atomic_load(&ledger.operations), atomic_load(&ledger.deleted));
	return torture_counts_print(&counts, owned) ? 0 : 1;
}
