// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests read/verified_cache.h: what the cache keeps, returns and drops. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "read/checksum.h"
#include "read/crc_table.h"
#include "read/piece.h"
#include "read/verified_cache.h"
#include "datanode/basis.h"

#define UNIT VERIFIED_UNIT
#define MOST (40U * UNIT)
#define SIZE (4U * UNIT + 100)
#define CHUNK 512U

static const char dir_a, dir_b;
static int check_error; /* the result of every check of a replica */
static void (*while_checking)(void);
static struct verified_cache *cache;
static uint8_t dst[SIZE];

int parser_check(const struct parser_fs *fs, struct parser_basis *b, const struct block_files *f)
{
	(void)fs, (void)b, (void)f;
	if (while_checking)
		while_checking();
	return check_error;
}

static struct volume *volume;
static struct parser_fs fs;

static struct block_replica *make_of(struct served *v, const void *dir, int64_t id, uint64_t stamp,
				     uint64_t size, bool finalized)
{
	struct replica_key key = {dir, "BP-1", id, stamp};
	struct block_files files = {.data.size = size,
				    .header = {META_CRC32, CHUNK},
				    .finalized = finalized};
	struct block_replica *r =
		replica_new(v, NULL, &key, &files,
			    basis_new(basis_state_new(&(struct answer_basis){.clean = true}, 0)));

	assert_non_null(r);
	r->fs = &fs;
	return r;
}

static struct block_replica *make(int64_t id)
{
	return make_of(NULL, &dir_a, id, 1001, SIZE, true);
}

/* A byte that depends on the block and on its offset. */
static uint8_t byte_at(int64_t id, uint64_t offset)
{
	return (uint8_t)(id * 31 + (int64_t)(offset / UNIT * 7 + offset));
}

static struct crc_table table;

/* As CRC32C, for replicas that have these. */
static void put_sums(const uint8_t *data, size_t length, uint8_t *sums)
{
	for (size_t at = 0; at < length; at += CHUNK, sums += 4) {
		size_t n = length - at < CHUNK ? length - at : CHUNK;
		uint32_t sum = htobe32(crc_table_sum(&table, data + at, n));

		memcpy(sums, &sum, sizeof(sum));
	}
}

/* Adds [offset, offset + length), of which the bytes up to read_to were read. */
static void add_part(struct block_replica *r, uint64_t offset, size_t length, uint64_t read_to)
{
	uint8_t *data = malloc(length), sums[SIZE / CHUNK * 4 + 4];
	const struct piece p = {offset, offset + length, data, sums};

	assert_non_null(data);
	for (size_t i = 0; i < length; i++)
		data[i] = byte_at(r->key.id, offset + i);
	put_sums(data, length, sums);
	verified_cache_add(cache, r, &p, read_to);
	free(data);
}

static void add(struct block_replica *r, uint64_t offset, size_t length)
{
	add_part(r, offset, length, offset + length);
}

static void assert_read(const struct block_replica *r, uint64_t offset, size_t length)
{
	uint32_t sum;

	memset(dst, 0, sizeof(dst));
	assert_int_equal(verified_cache_read(cache, r, offset, dst, length, &sum), 1);
	assert_int_equal(sum, crc_table_sum(&table, dst, length));
	for (size_t i = 0; i < length; i++)
		assert_int_equal(dst[i], byte_at(r->key.id, offset + i));
}

static bool untouched(void)
{
	for (size_t i = 0; i < sizeof(dst); i++)
		if (dst[i] != 0xa5)
			return false;
	return true;
}

static void assert_missing(const struct block_replica *r, uint64_t offset, size_t length)
{
	uint32_t sum;

	memset(dst, 0xa5, sizeof(dst));
	assert_int_equal(verified_cache_read(cache, r, offset, dst, length, &sum), 0);
	assert_true(untouched());
}

static size_t status_of(const char *member)
{
	json_t *status = verified_cache_status(cache);
	size_t bytes = (size_t)json_integer_value(json_object_get(status, member));

	json_decref(status);
	return bytes;
}

static size_t used(void)
{
	return status_of("used");
}

static int set_up(void **state)
{
	(void)state;
	check_error = 0;
	fs.volume = volume;
	cache = verified_cache_new(MOST);
	return cache ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	verified_cache_free(cache);
	return 0;
}

static void whole_units_only(void **state)
{
	struct block_replica *r = make(1);

	(void)state;
	add(r, 1, 3 * UNIT); /* all of units 1 and 2 */
	assert_missing(r, 0, 1);
	assert_read(r, UNIT, 2 * UNIT);
	assert_read(r, UNIT + 5, UNIT);
	assert_missing(r, UNIT, 2 * UNIT + 1);
	add(r, 3 * UNIT, UNIT + 100); /* the last unit may be short */
	assert_read(r, 3 * UNIT + 9, UNIT + 91);
	assert_missing(r, 4 * UNIT, 101);
	assert_missing(r, UINT64_MAX, 2);
	replica_put(r);
}

/* The CRC32C of whole units is made of the checksums that were verified. */
static void sums_of_chunks(void **state)
{
	struct block_replica *r = make(1);

	(void)state;
	r->files.header.type = META_CRC32C;
	add(r, CHUNK, 3 * UNIT);
	assert_read(r, UNIT, 2 * UNIT);
	assert_read(r, UNIT + 5, UNIT);
	add(r, 2 * UNIT, 2 * UNIT + 100);
	assert_read(r, UNIT, 3 * UNIT + 100);
	assert_read(r, 4 * UNIT, 100);
	replica_put(r);
}

/* Clients have different replica objects, but share the bytes of replicas of the same name. */
static void shared_by_name(void **state)
{
	struct block_replica *r = make(1), *again = make(1);
	struct block_replica *other[] = {
		make(2),
		make_of(NULL, &dir_b, 1, 1001, SIZE, true), /* of another datanode */
		make_of(NULL, &dir_a, 1, 1002, SIZE, true),
		make_of(NULL, &dir_a, 1, 1001, SIZE - 1, true),
	};

	(void)state;
	add(r, 0, SIZE);
	assert_read(again, 0, SIZE);
	for (unsigned i = 0; i < 4; i++) {
		assert_missing(other[i], 0, UNIT);
		replica_put(other[i]);
	}
	replica_put(r);
	replica_put(again);
}

/*
 * After an upgrade of HDFS was rolled back, a new block may have the name and size of an old one.
 * Its file may even have the inode of the old one's, but not the generation.
 */
static void names_may_come_back(void **state)
{
	struct block_replica *old = make(1), *fresh = make(1), *reused = make(1);

	(void)state;
	old->files.data.inode = fresh->files.data.inode + 1;
	reused->files.data.generation = fresh->files.data.generation + 1;
	add(old, 0, SIZE);
	assert_missing(fresh, 0, UNIT);
	add(fresh, 0, SIZE);
	assert_missing(reused, 0, UNIT);
	assert_read(old, 0, SIZE);
	assert_read(fresh, 0, SIZE);
	verified_cache_forget_block(cache, "BP-1", 1);
	assert_missing(old, 0, UNIT);
	assert_missing(fresh, 0, UNIT);
	replica_put(old);
	replica_put(fresh);
	replica_put(reused);
}

static void never_of_a_changed_replica(void **state)
{
	struct block_replica *r = make(1);
	uint32_t sum;

	(void)state;
	add(r, 0, SIZE);
	memset(dst, 0xa5, sizeof(dst));
	check_error = -EAGAIN;
	assert_int_equal(verified_cache_read(cache, r, 0, dst, SIZE, &sum), -EAGAIN);
	check_error = -EIO;
	assert_int_equal(verified_cache_read(cache, r, 0, dst, SIZE, &sum), -EIO);
	assert_true(untouched());
	replica_put(r);
}

static void blocks_being_written_are_not_kept(void **state)
{
	struct block_replica *r = make_of(NULL, &dir_a, 1, 1001, SIZE, false);

	(void)state;
	add(r, 0, SIZE);
	assert_missing(r, 0, UNIT);
	assert_int_equal(used(), 0);
	replica_put(r);
}

/*
 * Each block is read once more, as a second client would. The first block is read again and again,
 * and stays.
 */
static void bounded_and_what_is_used_stays(void **state)
{
	struct block_replica *first = make(0);

	(void)state;
	add(first, 0, SIZE);
	for (int64_t id = 1; id < 200; id++) {
		struct block_replica *r = make(id);

		add(r, 0, SIZE);
		assert_true(used() <= MOST);
		assert_read(r, 0, SIZE);
		replica_put(r);
		assert_read(first, 0, SIZE);
	}
	first->key.id = 1;
	assert_missing(first, 0, UNIT);
	replica_put(first);
}

/* Blocks that are read once each, ten times as many as the cache holds. */
static void scan(int64_t first_id)
{
	for (int64_t id = first_id; id < first_id + 80; id++) {
		struct block_replica *r = make(id);

		add(r, 0, SIZE);
		replica_put(r);
	}
}

static bool cached(int64_t id)
{
	struct block_replica *r = make(id);
	bool has = verified_cache_has(cache, r, 0, SIZE);

	replica_put(r);
	return has;
}

static bool any_cached(int64_t id)
{
	struct block_replica *r = make(id);
	bool any = false;

	for (uint64_t at = 0; at < SIZE; at += UNIT)
		any |= verified_cache_has(cache, r, at, 1);
	replica_put(r);
	return any;
}

/* Of two blocks, the one that was read in two passes stays. */
static void a_scan_in_small_reads_is_one_use(void **state)
{
	struct block_replica *r = make(1), *hot = make(2);

	(void)state;
	add(r, 0, SIZE);
	add(hot, 0, SIZE);
	for (uint64_t at = 0; at < SIZE; at += 4096)
		assert_read(r, at, SIZE - at < 4096 ? SIZE - at : 4096);
	assert_read(hot, 0, SIZE);
	assert_read(hot, 0, SIZE);
	scan(100);
	assert_false(any_cached(1));
	assert_true(cached(2));
	replica_put(r);
	replica_put(hot);
}

static void going_on_to_read_is_no_use(void **state)
{
	struct block_replica *r = make(1), *hot = make(2);

	(void)state;
	add_part(r, 0, SIZE, 0);
	add_part(hot, 0, SIZE, 0);
	for (unsigned pass = 0; pass < 2; pass++)
		assert_read(r, 0, SIZE); /* the reader it was for, and one more */
	for (unsigned pass = 0; pass < 3; pass++)
		assert_read(hot, 0, SIZE);
	scan(100);
	assert_false(any_cached(1));
	assert_true(cached(2));
	replica_put(r);
	replica_put(hot);
}

static void looking_is_no_use(void **state)
{
	struct block_replica *r = make(1);

	(void)state;
	add(r, 0, SIZE);
	for (unsigned i = 0; i < 9; i++)
		assert_true(cached(1));
	assert_int_equal(status_of("hits") + status_of("misses"), 0);
	scan(100);
	assert_false(any_cached(1));
	replica_put(r);
}

static void a_smaller_cache_drops_bytes(void **state)
{
	(void)state;
	scan(1);
	assert_in_range(used(), MOST - 2 * UNIT, MOST);
	verified_cache_resize(cache, MOST / 4);
	assert_int_equal(status_of("size"), MOST / 4);
	assert_in_range(used(), MOST / 4 - 2 * UNIT, MOST / 4);
	scan(1000);
	assert_in_range(used(), MOST / 4 - 2 * UNIT, MOST / 4);
	verified_cache_resize(cache, MOST);
	scan(2000);
	assert_in_range(used(), MOST - 2 * UNIT, MOST);
}

/* While the bytes are picked, the check of the replica lets the cache drop everything. */
static void drop_all(void)
{
	verified_cache_forget_block(cache, "BP-1", 1);
	assert_false(any_cached(1));
	assert_true(used() >= SIZE); /* the bytes count as long as they are used */
	scan(100);                   /* memory that is free gets other bytes */
}

static void bytes_in_use_stay_right(void **state)
{
	struct block_replica *r = make(1);

	(void)state;
	add(r, 0, SIZE);
	while_checking = drop_all;
	assert_read(r, 0, SIZE);
	while_checking = NULL;
	assert_missing(r, 0, SIZE);
	assert_true(used() <= MOST);
	replica_put(r);
}

/* Pages of this process that are in memory, of mappings as those of read/frames.c. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	size_t size = 0, kib, sum = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Size: %zu kB", &kib) == 1)
			size = kib;
		else if (size == 64 << 10 && sscanf(line, "Rss: %zu kB", &kib) == 1)
			sum += kib << 10;
	}
	fclose(file);
	return sum;
}

static void memory_goes_back_to_the_kernel(void **state)
{
	(void)state;
	scan(1);
	assert_in_range(resident(), MOST - 4 * UNIT, MOST + 16 * UNIT);
	verified_cache_resize(cache, UNIT);
	assert_true(resident() <= 17 * UNIT);
	verified_cache_resize(cache, MOST);
	for (int64_t id = 1000; id < 1400; id++) { /* each takes a page, and one only */
		struct block_replica *r = make_of(NULL, &dir_a, id, 1001, 100, true);

		add(r, 0, 100);
		assert_read(r, 0, 100);
		replica_put(r);
	}
	assert_true(resident() <= 400 * 4096 + 16 * UNIT);
}

static void tells_what_twice_the_size_would_have(void **state)
{
	(void)state;
	scan(1);
	assert_int_equal(status_of("filled"), 80 * SIZE);
	assert_int_equal(status_of("filled_again"), 0);
	for (int64_t id = 80; id > 80 - 14; id--) { /* the cache has 9 of them */
		struct block_replica *r = make(id);

		add(r, 0, SIZE);
		replica_put(r);
	}
	assert_int_equal(status_of("filled"), 85 * SIZE);
	assert_int_equal(status_of("filled_again"), 5 * SIZE);
	scan(1); /* most of these left the cache too long ago */
	assert_in_range(status_of("filled_again"), 5 * SIZE, 16 * SIZE);
}

/* For a huge block, the list of units alone would be too large. */
static void huge_blocks_are_not_kept(void **state)
{
	struct block_replica *r = make_of(NULL, &dir_a, 1, 1001, 1ULL << 40, true);

	(void)state;
	add(r, 0, UNIT);
	assert_missing(r, 0, UNIT);
	assert_int_equal(used(), 0);
	replica_put(r);
}

static void one_block_is_forgotten(void **state)
{
	struct block_replica *r = make(1), *other = make(2);

	(void)state;
	add(r, 0, SIZE);
	add(other, 0, SIZE);
	verified_cache_forget_block(cache, "BP-2", 1);
	assert_read(r, 0, UNIT);
	verified_cache_forget_block(cache, "BP-1", 1);
	assert_missing(r, 0, UNIT);
	assert_read(other, 0, SIZE);
	replica_put(r);
	replica_put(other);
}

/* The address of its directory may soon be that of another directory. */
static void no_longer_served_is_forgotten(void **state)
{
	struct served *v = calloc(1, sizeof(*v));
	struct block_replica *r;

	(void)state;
	assert_non_null(v);
	atomic_init(&v->references, 1);
	r = make_of(v, &dir_a, 1, 1001, SIZE, true);
	add(r, 0, SIZE);
	atomic_store(&v->retired, true);
	verified_cache_forget(cache, v);
	assert_int_equal(used(), 0);
	add(r, 0, SIZE); /* a read that was under way */
	assert_int_equal(used(), 0);
	replica_put(r);
	served_put(v);
}

/* More units than are dropped in one step; the cache has other blocks, too. */
static void many_blocks_are_forgotten(void **state)
{
	struct served *v = calloc(1, sizeof(*v));
	struct block_replica *other = make(1000), *r[100];

	(void)state;
	assert_non_null(v);
	atomic_init(&v->references, 1);
	verified_cache_resize(cache, 1000 * UNIT);
	add(other, 0, SIZE);
	for (int64_t i = 0; i < 100; i++) {
		r[i] = make_of(v, &dir_a, i, 1001, SIZE, true);
		add(r[i], 0, SIZE);
		assert_read(r[i], 0, SIZE);
	}
	verified_cache_forget_block(cache, "BP-1", 50);
	atomic_store(&v->retired, true);
	verified_cache_forget(cache, v);
	for (int64_t i = 0; i < 100; i++) {
		assert_missing(r[i], 0, UNIT);
		replica_put(r[i]);
	}
	assert_read(other, 0, SIZE);
	replica_put(other);
	served_put(v);
}

static long page_faults(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_minflt;
}

/* The table of buckets has 128 pages, and its reader faults once for each. */
static void forgetting_visits_nothing_else(void **state)
{
	struct served *v = calloc(1, sizeof(*v));
	long before;

	(void)state;
	assert_non_null(v);
	before = page_faults();
	verified_cache_forget(cache, v);
	assert_in_range(page_faults() - before, 0, 16);
	free(v);
}

static void none_is_no_error(void **state)
{
	struct block_replica *r = make(1);
	struct verified_cache *small = verified_cache_new(UNIT - 1);
	uint32_t sum;

	(void)state;
	assert_non_null(small);
	verified_cache_add(small, r, &(struct piece){0, UNIT, dst, NULL}, UNIT);
	assert_int_equal(verified_cache_used(small), 0);
	assert_int_equal(verified_cache_read(small, r, 0, dst, UNIT, &sum), 0);
	verified_cache_free(small);
	verified_cache_add(NULL, r, &(struct piece){0, UNIT, dst, NULL}, UNIT);
	verified_cache_resize(NULL, MOST);
	assert_int_equal(verified_cache_used(NULL), 0);
	assert_int_equal(verified_cache_read(NULL, r, 0, dst, UNIT, &sum), 0);
	verified_cache_forget(NULL, NULL);
	verified_cache_forget_block(NULL, "BP-1", 1);
	verified_cache_free(NULL);
	replica_put(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_units_only),
		TEST(sums_of_chunks),
		TEST(shared_by_name),
		TEST(names_may_come_back),
		TEST(never_of_a_changed_replica),
		TEST(blocks_being_written_are_not_kept),
		TEST(bounded_and_what_is_used_stays),
		TEST(a_scan_in_small_reads_is_one_use),
		TEST(going_on_to_read_is_no_use),
		TEST(looking_is_no_use),
		TEST(a_smaller_cache_drops_bytes),
		TEST(bytes_in_use_stay_right),
		TEST(memory_goes_back_to_the_kernel),
		TEST(tells_what_twice_the_size_would_have),
		TEST(huge_blocks_are_not_kept),
		TEST(one_block_is_forgotten),
		TEST(no_longer_served_is_forgotten),
		TEST(many_blocks_are_forgotten),
		TEST(forgetting_visits_nothing_else),
		TEST(none_is_no_error),
	};

	crc_table_init(&table, CRC32C_POLYNOMIAL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
