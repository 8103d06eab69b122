// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests block_read() on a file system that its owner writes at chosen moments.  This program fakes
 * the file system and the handle.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "read/crc_table.h"
#include "read/piece.h"
#include "read/read_private.h"

#define LENGTH (4U * VERIFIED_UNIT)
#define CHUNK 512U
#define FILL 0xa5
#define HOLE 1U

static uint8_t data[LENGTH], sums[META_HEADER_BYTES + LENGTH / CHUNK * 4];
static bool live;        /* the file system is mounted by its owner */
static unsigned changes; /* number of changes to the replica's files */
static unsigned checks, data_reads, renewals;
static unsigned change_before_read;  /* the owner replaces the block at this read */
static unsigned rewrite_before_read; /* the owner rewrites a chunk at that read ... */
static unsigned settle_before_read;  /* ... and its checksum at this one */
static size_t rewritten;             /* the offset of that chunk */
static int read_error;               /* of data */
static int renew_error;
static bool sparse; /* one unit of the data, HOLE, lies in no extent */
static bool in_journal;
static unsigned journal_before_read; /* at this read the owner commits data to the journal */
static unsigned home_at_check;       /* at this check the data leaves the journal */
static struct block_replica *replica;

/* ---- the file system ---- */

struct parser_basis {
	unsigned changes;
};

static struct parser_basis *basis_now(void)
{
	struct parser_basis *b = malloc(sizeof(*b));

	assert_non_null(b);
	b->changes = changes;
	return b;
}

static void sum_chunk(size_t chunk)
{
	static struct crc_table table;
	uint32_t sum;

	crc_table_init(&table, CRC32C_POLYNOMIAL);
	sum = htobe32(crc_table_sum(&table, data + chunk * CHUNK, CHUNK));
	memcpy(sums + META_HEADER_BYTES + chunk * 4, &sum, sizeof(sum));
}

/* Writes the block to its place in the extents.  With another seed: an earlier block there. */
static void write_home(uint8_t seed)
{
	for (unsigned i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)(i * 7 + i / 256 + seed);
	for (unsigned i = 0; i < LENGTH / CHUNK; i++)
		sum_chunk(i);
}

int parser_check(const struct parser_fs *fs, struct parser_basis *b, const struct block_files *f)
{
	(void)fs, (void)f;
	checks++;
	if (checks == home_at_check) {
		in_journal = false;
		write_home(0);
	}
	return b->changes == changes ? 0 : -EAGAIN;
}

bool parser_basis_is_clean(const struct parser_basis *b)
{
	(void)b;
	return !live;
}

size_t parser_basis_weight(const struct parser_basis *b)
{
	return sizeof(*b);
}

void parser_basis_free(struct parser_basis *b)
{
	free(b);
}

/* Deletes the block, commits, and writes another block into its extents. */
static void owner_replaces_block(void)
{
	changes++;
	memset(data, 'x', sizeof(data));
}

int fs_file_read_at(struct volume *volume, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length)
{
	bool is_meta = f->size == sizeof(sums);

	(void)volume;
	if (!is_meta) {
		data_reads++;
		if (data_reads == change_before_read)
			owner_replaces_block();
		if (data_reads == journal_before_read)
			in_journal = true;
		if (data_reads == rewrite_before_read)
			data[rewritten] ^= 1;
		if (data_reads == settle_before_read)
			sum_chunk(rewritten / CHUNK);
	}
	if (is_meta || !read_error)
		memcpy(buf, (is_meta ? sums : data) + offset, length);
	return is_meta ? 0 : read_error;
}

bool parser_data_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	(void)b, (void)offset, (void)length;
	return !in_journal;
}

bool parser_meta_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	(void)b, (void)offset, (void)length;
	return true;
}

/* ---- read-ahead ---- */

static const uint8_t *read_ahead; /* the whole block, as it was read ahead; NULL: nothing was */
static int held;                  /* pieces that were got and not put */

struct ahead_step *ahead_get(struct ahead *a, const struct block_replica *r, uint64_t from,
			     uint64_t to, struct piece *p)
{
	static uint8_t bytes[LENGTH];

	(void)a, (void)r;
	if (!read_ahead)
		return NULL;
	memcpy(bytes, read_ahead, LENGTH);
	from -= from % VERIFIED_UNIT;
	to += (VERIFIED_UNIT - to % VERIFIED_UNIT) % VERIFIED_UNIT;
	*p = (struct piece){from, to, bytes + from, sums + META_HEADER_BYTES + from / CHUNK * 4};
	held++;
	return (struct ahead_step *)bytes;
}

void ahead_put(struct ahead *a, struct ahead_step *s, const struct piece *p)
{
	(void)a, (void)s, (void)p;
	held--;
}

void ahead_begin(struct ahead *a, struct block_replica *r, uint64_t from, uint64_t to, uint64_t end)
{
	(void)a, (void)r, (void)from, (void)to, (void)end;
}

void ahead_end(struct ahead *a, bool waited)
{
	(void)a, (void)waited;
}

/* The bytes of the file are not in an image. */
bool volume_is_direct(const struct volume *v)
{
	assert_null(v);
	return false;
}

/* The replica belongs to no struct served. */
struct served *served_get(struct served *v)
{
	return v;
}

void served_put(struct served *v)
{
	assert_null(v);
}

/* ---- the handle ---- */

static struct block_replica *find(void)
{
	static const struct parser_fs fs;
	struct replica_key key = {NULL, "BP-1", 1, 1001};
	struct block_files files = {
		.data.size = LENGTH,
		.meta.size = sizeof(sums),
		.header = {META_CRC32C, CHUNK},
		.finalized = true,
	};

	fs_file_extend(&files.meta, UINT64_MAX, 0, LENGTH, sizeof(sums));
	for (unsigned i = 0; i < LENGTH / VERIFIED_UNIT; i++)
		if (!sparse || i != HOLE)
			fs_file_extend(&files.data, UINT64_MAX, i * VERIFIED_UNIT,
				       i * VERIFIED_UNIT, VERIFIED_UNIT);
	return replica_new(NULL, &fs, &key, &files, basis_now());
}

struct block_replica *handle_replica(struct block_handle *h)
{
	(void)h;
	return replica_get(replica);
}

int handle_renew(struct block_handle *h, const struct block_replica *r)
{
	(void)h;
	assert_ptr_equal(r, replica);
	renewals++;
	if (renew_error)
		return renew_error;
	replica_put(replica);
	replica = find();
	return 0;
}

/* ---- tests ---- */

static struct block_handle handle = {.visible_length = LENGTH};
static uint8_t dst[LENGTH];

static int set_up(bool is_live)
{
	live = is_live;
	change_before_read = rewrite_before_read = settle_before_read = 0;
	home_at_check = journal_before_read = 0;
	read_error = 0;
	renew_error = -EAGAIN;
	in_journal = false;
	write_home(0);
	replica = find();
	memset(dst, FILL, sizeof(dst));
	data_reads = checks = renewals = 0;
	read_ahead = NULL;
	held = 0;
	return replica ? 0 : -1;
}

static int set_up_sparse(void **state)
{
	(void)state;
	sparse = true;
	return set_up(true);
}

static int set_up_sparse_clean(void **state)
{
	(void)state;
	sparse = true;
	return set_up(false);
}

static int set_up_clean(void **state)
{
	(void)state;
	return set_up(false);
}

static int set_up_live(void **state)
{
	(void)state;
	return set_up(true);
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(held, 0);
	replica_put(replica);
	sparse = false;
	return 0;
}

static void assert_all(uint8_t value)
{
	for (size_t i = 0; i < sizeof(dst); i++)
		assert_int_equal(dst[i], value);
}

/* Reads, and compares the CRC32C of the answer with that of the bytes. */
static ssize_t read_range(uint64_t offset, uint32_t length)
{
	static struct crc_table table;
	uint32_t sum = 1;
	ssize_t n = block_read(&handle, offset, dst, length, &sum);

	crc_table_init(&table, CRC32C_POLYNOMIAL);
	if (n >= 0)
		assert_int_equal(sum, crc_table_sum(&table, dst, (size_t)n));
	return n;
}

static ssize_t read_block(void)
{
	return read_range(0, LENGTH);
}

static void read_all(void)
{
	assert_int_equal(read_block(), LENGTH);
	assert_memory_equal(dst, data, LENGTH);
}

static void every_read_is_verified(void **state)
{
	(void)state;
	read_all();
	data[700] ^= 1;
	memset(dst, FILL, sizeof(dst));
	assert_int_equal(read_block(), -EBADMSG);
	assert_all(FILL);
}

static void parts_of_chunks(void **state)
{
	static const uint32_t edges[] = {0,         1,         CHUNK - 1,      CHUNK,
					 CHUNK + 1, 3 * CHUNK, LENGTH - CHUNK, LENGTH - 1,
					 LENGTH};
	const size_t count = sizeof(edges) / sizeof(edges[0]);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i; k < count; k++)
			assert_int_equal(read_range(edges[i], edges[k] - edges[i]),
					 edges[k] - edges[i]);
	assert_int_equal(read_range(LENGTH - 5, CHUNK), 5);
	assert_int_equal(read_range(LENGTH, CHUNK), 0);
}

static void what_was_read_ahead_is_not_read_again(void **state)
{
	(void)state;
	read_ahead = data;
	read_all();
	assert_int_equal(read_range(CHUNK + 1, 2 * VERIFIED_UNIT), 2 * VERIFIED_UNIT);
	assert_memory_equal(dst, data + CHUNK + 1, 2 * VERIFIED_UNIT);
	assert_int_equal(data_reads, 0);
	assert_true(checks > 0);
}

static void wrong_bytes_that_were_read_ahead_are_read_once_more(void **state)
{
	static uint8_t wrong[LENGTH];

	(void)state;
	memcpy(wrong, data, LENGTH);
	wrong[LENGTH / 2] ^= 1;
	read_ahead = wrong;
	read_all();
	assert_int_equal(data_reads, 1);
	data[LENGTH / 2] ^= 1; /* on the disk, too */
	memset(dst, FILL, sizeof(dst));
	assert_int_equal(read_block(), -EBADMSG);
	assert_all(FILL);
}

static void what_was_read_ahead_of_a_changed_replica_is_not_used(void **state)
{
	static uint8_t before[LENGTH];

	(void)state;
	memcpy(before, data, LENGTH);
	read_ahead = before;
	owner_replaces_block();
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
	assert_int_equal(data_reads, 0);
}

static void changed_before_a_second_read(void **state)
{
	(void)state;
	read_all();
	memset(dst, FILL, sizeof(dst));
	owner_replaces_block();
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
}

static void changed_within_a_second_read(void **state)
{
	(void)state;
	read_all();
	memset(dst, FILL, sizeof(dst));
	change_before_read = data_reads + 1;
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
}

static void disk_fails_at_a_second_read(void **state)
{
	(void)state;
	read_all();
	memset(dst, FILL, sizeof(dst));
	read_error = -EIO;
	assert_int_equal(read_block(), -EIO);
	assert_all(FILL);
}

static void a_read_costs_one_check(void **state)
{
	(void)state;
	read_all();
	assert_int_equal(data_reads, 1);
	assert_int_equal(checks, 1);
}

static void changed_before_a_read(void **state)
{
	(void)state;
	owner_replaces_block();
	assert_int_equal(read_block(), -EAGAIN);
	assert_int_equal(renewals, 1);
	assert_all(FILL);
}

static void changed_within_a_read(void **state)
{
	(void)state;
	change_before_read = 1;
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
}

/* Correct checksums prove nothing after a change: the .meta may be another block's. */
static void changed_though_checksums_are_right(void **state)
{
	(void)state;
	changes++;
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
}

static void found_again_by_its_name(void **state)
{
	(void)state;
	renew_error = 0;
	changes++;
	read_all();
	assert_int_equal(renewals, 1);
}

static void looking_again_ends(void **state)
{
	(void)state;
	renew_error = 0;
	in_journal = true;
	assert_int_equal(read_block(), -EAGAIN);
	assert_true(renewals < 10);
	assert_all(FILL);
}

/* The extents hold a deleted block with correct checksums; this block is only in the journal. */
static void nothing_is_read_before_it_left_the_journal(void **state)
{
	(void)state;
	in_journal = true;
	write_home(1);
	assert_int_equal(read_block(), -EAGAIN);
	assert_int_equal(data_reads, 0);
	home_at_check = checks + 1;
	read_all();
	assert_int_equal(dst[0], 0);
}

/* The extents hold what was there before a commit, with correct checksums. */
static void went_into_the_journal_within_a_read(void **state)
{
	(void)state;
	journal_before_read = 1;
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
}

/* The owner may have the bytes of the hole in its memory.  Other damage is still damage. */
static void a_mismatch_with_a_hole_is_not_committed_yet(void **state)
{
	(void)state;
	read_all();
	data[HOLE * VERIFIED_UNIT + 5] ^= 1;
	memset(dst, FILL, sizeof(dst));
	assert_int_equal(read_block(), -ENODATA);
	assert_int_equal(read_range(HOLE * VERIFIED_UNIT, 1), -ENODATA);
	read_ahead = data;
	assert_int_equal(read_range(HOLE * VERIFIED_UNIT, 1), -ENODATA);
	assert_all(FILL);
	assert_int_equal(read_range((HOLE + 1) * VERIFIED_UNIT, 1), 1);
	data[(HOLE + 1) * VERIFIED_UNIT] ^= 1;
	assert_int_equal(read_range((HOLE + 1) * VERIFIED_UNIT, 1), -EBADMSG);
}

/* Nobody has the file system mounted, so the zeros of a hole are all there is. */
static void clean_a_mismatch_with_a_hole_is_damage(void **state)
{
	(void)state;
	read_all();
	data[HOLE * VERIFIED_UNIT + 5] ^= 1;
	assert_int_equal(read_range(HOLE * VERIFIED_UNIT, 1), -EBADMSG);
}

static void renewing_fails(void **state)
{
	(void)state;
	changes++;
	renew_error = -EIO;
	assert_int_equal(read_block(), -EIO);
	assert_all(FILL);
}

static void live_rewritten_and_settled(void **state)
{
	(void)state;
	rewritten = 3 * CHUNK + 5;
	rewrite_before_read = 1;
	settle_before_read = 2;
	read_all();
}

static void live_last_chunk_is_being_written(void **state)
{
	(void)state;
	data[LENGTH - 1] ^= 1;
	assert_int_equal(read_block(), -EAGAIN);
	assert_all(FILL);
	assert_int_equal(read_range(0, LENGTH - CHUNK), LENGTH - CHUNK);
}

static void live_other_chunks_are_damaged(void **state)
{
	(void)state;
	data[LENGTH - 1] ^= 1;
	data[LENGTH - CHUNK - 1] ^= 1;
	assert_int_equal(read_block(), -EBADMSG);
	assert_all(FILL);
}

#define CLEAN(name) cmocka_unit_test_setup_teardown(name, set_up_clean, tear_down)
#define LIVE(name) cmocka_unit_test_setup_teardown(name, set_up_live, tear_down)
#define SPARSE(name) cmocka_unit_test_setup_teardown(name, set_up_sparse, tear_down)
#define SPARSE_CLEAN(name) cmocka_unit_test_setup_teardown(name, set_up_sparse_clean, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLEAN(every_read_is_verified),
		CLEAN(what_was_read_ahead_is_not_read_again),
		CLEAN(wrong_bytes_that_were_read_ahead_are_read_once_more),
		CLEAN(what_was_read_ahead_of_a_changed_replica_is_not_used),
		CLEAN(parts_of_chunks),
		CLEAN(a_read_costs_one_check),
		CLEAN(changed_before_a_second_read),
		CLEAN(changed_within_a_second_read),
		CLEAN(disk_fails_at_a_second_read),
		CLEAN(changed_before_a_read),
		CLEAN(changed_within_a_read),
		CLEAN(changed_though_checksums_are_right),
		CLEAN(found_again_by_its_name),
		LIVE(every_read_is_verified),
		LIVE(what_was_read_ahead_is_not_read_again),
		LIVE(wrong_bytes_that_were_read_ahead_are_read_once_more),
		LIVE(what_was_read_ahead_of_a_changed_replica_is_not_used),
		LIVE(a_read_costs_one_check),
		LIVE(changed_before_a_second_read),
		LIVE(changed_within_a_second_read),
		LIVE(disk_fails_at_a_second_read),
		LIVE(changed_before_a_read),
		LIVE(changed_within_a_read),
		LIVE(changed_though_checksums_are_right),
		LIVE(found_again_by_its_name),
		LIVE(looking_again_ends),
		LIVE(nothing_is_read_before_it_left_the_journal),
		LIVE(went_into_the_journal_within_a_read),
		LIVE(renewing_fails),
		LIVE(live_rewritten_and_settled),
		LIVE(live_last_chunk_is_being_written),
		LIVE(live_other_chunks_are_damaged),
		SPARSE(a_mismatch_with_a_hole_is_not_committed_yet),
		SPARSE_CLEAN(clean_a_mismatch_with_a_hole_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
