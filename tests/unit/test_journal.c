// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests the reader of jbd2 journals (parser/fs/) with journals made by hand: committed, torn,
 * revoked, escaped, wrapped and hostile logs, with every kind of checksum.
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

#include <ext2fs/ext2fs.h>

#include "parser/fs/fs_impl.h"
#include "parser/fs/journal.h"

#define SIZE 1024U
#define LOG_AT 200U /* the block of the disk where the log begins */
#define LOG_BLOCKS 24U
#define FIRST 1U
#define MAGIC 0xc03b3998U
#define TAIL 100U /* id of the first transaction */

enum sums { NO_SUMS, COMMIT_SUMS, SUMS_V2, SUMS_V3 };

static uint8_t disk[(LOG_AT + 2048) * SIZE];
static enum sums sums;
static bool wide;
static uint32_t seed, pos, id, running_sum;
static struct journal *journal;
static struct fs fs;

/* ---- the disk ---- */

int fs_file_read(struct fs *f, const struct fs_file *file, uint64_t offset, void *buf, size_t n)
{
	(void)f;
	assert_true(offset + n <= file->size);
	memcpy(buf, disk + LOG_AT * SIZE + offset, n);
	return 0;
}

int volume_read(struct volume *v, uint64_t offset, void *buf, size_t n)
{
	(void)v;
	assert_true(offset + n <= sizeof(disk));
	memcpy(buf, disk + offset, n);
	return 0;
}

/* ---- writing a journal ---- */

static uint8_t *log_block(uint32_t n)
{
	return disk + (LOG_AT + n) * SIZE;
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static bool has_tag_sums(void)
{
	return sums == SUMS_V2 || sums == SUMS_V3;
}

static void sum_into(uint8_t *block, size_t at)
{
	put32(block + at, 0);
	if (has_tag_sums())
		put32(block + at, ext2fs_crc32c_le(seed, block, SIZE));
}

static void put_super_of(uint32_t length, uint32_t tail, uint32_t tail_pos, uint32_t extra)
{
	uint8_t *s = log_block(0);

	memset(s, 0, SIZE);
	put32(s, MAGIC);
	put32(s + 4, 4);
	put32(s + 12, SIZE);
	put32(s + 16, length);
	put32(s + 20, FIRST);
	put32(s + 24, tail);
	put32(s + 28, tail_pos);
	put32(s + 36, sums == COMMIT_SUMS);
	put32(s + 40, 1U | (wide ? 2U : 0) | (sums == SUMS_V2 ? 8U : 0) |
			      (sums == SUMS_V3 ? 16U : 0) | extra);
	memset(s + 48, 7, 16);
	if (has_tag_sums()) {
		s[80] = 4;
		put32(s + 252, ext2fs_crc32c_le(UINT32_MAX, s, SIZE));
	}
	seed = ext2fs_crc32c_le(UINT32_MAX, s + 48, 16);
}

static void put_super(uint32_t tail, uint32_t tail_pos)
{
	put_super_of(LOG_BLOCKS, tail, tail_pos, 0);
}

static uint8_t *next_block(void)
{
	uint8_t *block = log_block(pos);

	memset(block, 0, SIZE);
	pos = pos + 1 == LOG_BLOCKS ? FIRST : pos + 1;
	return block;
}

static uint8_t *put_header(uint32_t kind)
{
	uint8_t *block = next_block();

	put32(block, MAGIC);
	put32(block + 4, kind);
	put32(block + 8, id);
	return block;
}

/* Fills a copy with a byte made of block and transaction; an escaped copy begins with the magic. */
static void fill_copy(uint8_t *copy, uint64_t block, bool escaped)
{
	memset(copy, (int)(block * 31 + id), SIZE);
	if (escaped)
		put32(copy, MAGIC);
}

/* Writes one descriptor block and its copies. */
static void put_copies(const uint64_t *blocks, size_t count, bool escaped)
{
	uint8_t *descriptor = put_header(1);
	uint8_t *tag = descriptor + 12;

	for (size_t i = 0; i < count; i++) {
		uint8_t *copy = next_block();
		uint32_t flags = (escaped ? 1 : 0) | (i ? 2 : 0) | (i + 1 == count ? 8 : 0);
		uint32_t big = htobe32(id), sum;

		fill_copy(copy, blocks[i], escaped);
		if (escaped)
			put32(copy, 0);
		sum = ext2fs_crc32c_le(seed, (uint8_t *)&big, 4);
		sum = ext2fs_crc32c_le(sum, copy, SIZE);
		put32(tag, (uint32_t)blocks[i]);
		if (sums == SUMS_V3) {
			put32(tag + 4, flags);
			put32(tag + 8, wide ? (uint32_t)(blocks[i] >> 32) : 0);
			put32(tag + 12, sum);
			tag += 16;
		} else {
			tag[4] = sums == SUMS_V2 ? (uint8_t)(sum >> 8) : 0;
			tag[5] = sums == SUMS_V2 ? (uint8_t)sum : 0;
			tag[7] = (uint8_t)flags;
			if (wide)
				put32(tag + 8, (uint32_t)(blocks[i] >> 32));
			tag += 8 + (wide ? 4 : 0) + (sums == SUMS_V2 ? 2 : 0);
		}
		if (i == 0)
			tag += 16; /* the UUID */
	}
	if (has_tag_sums())
		sum_into(descriptor, SIZE - 4);
	running_sum = ext2fs_crc32_be(running_sum, descriptor, SIZE);
	for (size_t i = 0; i < count; i++)
		running_sum = ext2fs_crc32_be(
			running_sum,
			log_block(
				(uint32_t)((size_t)(descriptor - log_block(FIRST)) / SIZE + 1 + i) %
					(LOG_BLOCKS - FIRST) +
				FIRST),
			SIZE);
}

static void put_copy(uint64_t block)
{
	put_copies(&block, 1, false);
}

static void put_revoke(uint64_t block)
{
	uint8_t *revoke = put_header(5);

	put32(revoke + 12, 16 + (wide ? 8 : 4));
	if (wide)
		put32(revoke + 16, (uint32_t)(block >> 32));
	put32(revoke + 16 + (wide ? 4 : 0), (uint32_t)block);
	if (has_tag_sums())
		sum_into(revoke, SIZE - 4);
}

static uint8_t *put_commit(void)
{
	uint8_t *commit = put_header(2);

	if (sums == COMMIT_SUMS) {
		commit[12] = 1;
		commit[13] = 4;
		put32(commit + 16, running_sum);
	} else if (has_tag_sums()) {
		sum_into(commit, 16);
	}
	running_sum = UINT32_MAX;
	id++;
	return commit;
}

static void commit_copy(uint64_t block)
{
	put_copy(block);
	put_commit();
}

/* ---- reading it ---- */

static struct journal_mark mark;
static bool idle;
static struct fs_watch watch;

/* True if the bytes that the last refresh watched are unchanged. */
static bool watched_is_same(void)
{
	bool same = true;

	for (unsigned i = 0; i < watch.count; i++)
		same &= !memcmp(disk + watch.piece[i].offset, watch.piece[i].bytes,
				watch.piece[i].length);
	return same;
}

/* While the watched bytes are the same, a refresh must find nothing new, whatever the log holds. */
static int refresh(void)
{
	struct journal_mark before = mark;
	bool same = watch.count && watched_is_same();
	const char *reason;
	int r;

	watch.count = 0;
	r = journal_refresh(journal, &mark, &watch, &idle, &reason);
	if (same) {
		assert_int_equal(r, 0);
		assert_int_equal(mark.id, before.id);
		assert_int_equal(mark.era, before.era);
	}
	if (r < 0)
		watch.count = 0;
	assert_true(watched_is_same());
	return r;
}

static int load_of(uint64_t size)
{
	struct fs_file file = {.size = size};
	const char *reason = NULL;
	int r = fs_file_extend(&file, sizeof(disk), 0, LOG_AT * SIZE, size);

	assert_int_equal(r, 0);
	r = journal_load(journal, &fs, &file, SIZE, 0, &reason);
	assert_true(r == 0 || reason);
	return r;
}

static void load(void)
{
	assert_int_equal(load_of(LOG_BLOCKS * SIZE), 0);
	assert_int_equal(refresh(), 0);
}

/* Returns the transaction whose copy of the block is read.  0: the block is read from its place. */
static uint32_t owner_of(uint64_t block)
{
	struct journal_copy copy;
	uint32_t found = 0;

	assert_int_equal(journal_read(journal, &fs, block, SIZE, &copy), 0);
	for (uint32_t t = TAIL; t < id && !found; t++)
		if (copy.content->data[SIZE - 1] == (uint8_t)(block * 31 + t))
			found = t;
	meta_block_put(copy.content);
	return found;
}

static int set_up_with(enum sums s, bool is_wide)
{
	sums = s;
	wide = is_wide;
	memset(disk, 0, sizeof(disk));
	pos = FIRST;
	id = TAIL;
	running_sum = UINT32_MAX;
	put_super(TAIL, FIRST);
	journal = journal_new();
	return journal ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	journal_free(journal);
	return 0;
}

static void newest_copy_counts(void **state)
{
	static const uint64_t three[] = {10, 11, 12};

	(void)state;
	put_copies(three, 3, false);
	put_commit();
	commit_copy(11);
	load();
	assert_int_equal(mark.id, TAIL + 2);
	assert_false(idle);
	assert_int_equal(owner_of(10), TAIL);
	assert_int_equal(owner_of(11), TAIL + 1);
	assert_int_equal(owner_of(13), 0);
}

static void uncommitted_does_not(void **state)
{
	uint8_t *commit;

	(void)state;
	commit_copy(10);
	put_copy(10);
	put_copy(11);
	load();
	assert_int_equal(owner_of(10), TAIL);
	assert_int_equal(owner_of(11), 0);
	commit = put_commit();
	assert_int_equal(refresh(), 0);
	assert_int_equal(mark.id, TAIL + 2);
	assert_int_equal(owner_of(10), TAIL + 1);
	assert_int_equal(owner_of(11), TAIL + 1);
	(void)commit;
}

static void escaped_is_restored(void **state)
{
	static const uint64_t block = 10;
	struct journal_copy copy;
	uint32_t magic = htobe32(MAGIC);

	(void)state;
	put_copies(&block, 1, true);
	put_commit();
	load();
	assert_int_equal(journal_read(journal, &fs, block, SIZE, &copy), 0);
	assert_memory_equal(copy.content->data, &magic, 4);
	assert_int_equal(copy.content->data[4], (uint8_t)(block * 31 + TAIL));
	meta_block_put(copy.content);
}

static void revoked_is_at_home(void **state)
{
	(void)state;
	commit_copy(10);
	put_revoke(10);
	put_revoke(77); /* never journaled */
	put_commit();
	load();
	assert_int_equal(owner_of(10), 0);
	assert_false(journal_covers(journal, 10 * SIZE, SIZE));
	commit_copy(10);
	assert_int_equal(refresh(), 0);
	assert_int_equal(owner_of(10), TAIL + 2);
	assert_true(journal_covers(journal, 9 * SIZE, 2 * SIZE));
}

static void revoke_of_its_own_transaction(void **state)
{
	(void)state;
	put_revoke(10);
	put_copy(10);
	put_commit();
	load();
	assert_int_equal(owner_of(10), 0);
}

static void wrapped_log(void **state)
{
	(void)state;
	pos = LOG_BLOCKS - 2;
	put_super(TAIL, pos);
	commit_copy(10); /* its commit block is the first block of the ring */
	commit_copy(11);
	load();
	assert_int_equal(mark.id, TAIL + 2);
	assert_int_equal(owner_of(10), TAIL);
	assert_int_equal(owner_of(11), TAIL + 1);
}

static void changes_are_told(void **state)
{
	static const uint64_t blocks[] = {10, 11};
	struct journal_mark since;

	(void)state;
	commit_copy(10);
	load();
	since = mark;
	assert_true(journal_unchanged(journal, &since, blocks, 2));
	commit_copy(12);
	assert_int_equal(refresh(), 0);
	assert_true(journal_unchanged(journal, &since, blocks, 2));
	commit_copy(11);
	assert_int_equal(refresh(), 0);
	assert_true(journal_unchanged(journal, &since, blocks, 1));
	assert_false(journal_unchanged(journal, &since, blocks, 2));
	assert_true(journal_unchanged(journal, &mark, blocks, 2));
}

static void cached_until_changed(void **state)
{
	struct journal_copy copy;

	(void)state;
	commit_copy(10);
	load();
	assert_int_equal(journal_read(journal, &fs, 11, SIZE, &copy), 0);
	assert_true(journal_confirm(journal, &mark, &copy, 1));
	meta_block_put(copy.content);
	memset(disk + 11 * SIZE, (int)(uint8_t)(11 * 31 + TAIL), SIZE); /* cannot happen */
	assert_int_equal(owner_of(11), 0);
	commit_copy(11);
	assert_int_equal(refresh(), 0);
	assert_int_equal(owner_of(11), TAIL + 1);
}

/* Between reading a copy and confirming it, the copy's space in the log was freed. */
static void copy_that_left_the_log(void **state)
{
	struct journal_mark since;
	struct journal_copy copy;

	(void)state;
	commit_copy(10);
	commit_copy(11);
	load();
	since = mark;
	assert_int_equal(journal_read(journal, &fs, 10, SIZE, &copy), 0);
	put_super(TAIL + 1, FIRST + 3);
	assert_int_equal(refresh(), 0);
	assert_int_equal(mark.era, since.era);
	assert_false(journal_confirm(journal, &since, &copy, 1));
	meta_block_put(copy.content);
	assert_int_equal(owner_of(10), 0); /* now read from its place */
}

static void lost_thread_begins_anew(void **state)
{
	static const uint64_t block = 10;
	struct journal_mark since;

	(void)state;
	commit_copy(10);
	load();
	since = mark;
	id = TAIL + 7;
	pos = FIRST + 5;
	put_super(id, pos);
	commit_copy(12);
	assert_int_equal(refresh(), 0);
	assert_int_equal(mark.id, TAIL + 8);
	assert_false(journal_unchanged(journal, &since, &block, 1));
}

static void emptied_and_filled_again(void **state)
{
	static const uint64_t block = 10;
	struct journal_mark since;

	(void)state;
	commit_copy(10);
	load();
	since = mark;
	put_super(TAIL + 1, 0);
	assert_int_equal(refresh(), 0);
	assert_true(idle);
	assert_int_equal(owner_of(10), 0);
	assert_true(journal_unchanged(journal, &since, &block, 1));
	put_super(TAIL + 1, FIRST);
	pos = FIRST;
	commit_copy(10);
	assert_int_equal(refresh(), 0);
	assert_false(idle);
	assert_false(journal_unchanged(journal, &since, &block, 1));
	assert_int_equal(owner_of(10), TAIL + 1);
}

/* A damaged transaction may be committed, so it must not be taken for the end of the log. */
static void damage_is_never_the_end(void **state)
{
	uint8_t *commit;

	(void)state;
	put_copy(10);
	commit = put_commit();
	assert_int_equal(load_of(LOG_BLOCKS * SIZE), 0);
	commit[17] ^= 1;
	assert_int_equal(refresh(), -EAGAIN);
	commit[17] ^= 1;
	if (has_tag_sums()) {
		log_block(FIRST)[40] ^= 1;
		assert_int_equal(refresh(), -EAGAIN);
		log_block(FIRST)[40] ^= 1;
	}
	assert_int_equal(refresh(), 0);
	assert_int_equal(mark.id, TAIL + 1);
}

static void damaged_copy(void **state)
{
	struct journal_copy copy;

	(void)state;
	commit_copy(10);
	load();
	log_block(FIRST + 1)[100] ^= 1;
	assert_int_equal(journal_read(journal, &fs, 10, SIZE, &copy), -EAGAIN);
}

static void descriptor_without_end(void **state)
{
	uint8_t *descriptor;

	(void)state;
	descriptor = put_header(1);
	memset(descriptor + 12, 0, SIZE - 12); /* tags of block 0, none marked as last */
	assert_int_equal(load_of(LOG_BLOCKS * SIZE), 0);
	assert_int_equal(refresh(), -EAGAIN);
}

static void fast_commit_area_is_not_the_ring(void **state)
{
	const char *reason;
	struct jbd2_super s;

	(void)state;
	put_super_of(1500, TAIL, 0, 32);
	assert_int_equal(jbd2_super_parse(log_block(0), SIZE, &s, &reason), 0);
	assert_int_equal(s.end, 1500 - 256);
	put_super_of(1200, TAIL, 0, 32); /* no room for one */
	assert_int_equal(jbd2_super_parse(log_block(0), SIZE, &s, &reason), 0);
	assert_int_equal(s.end, 1200);
}

static void assert_refused(size_t at, uint32_t value, int error)
{
	const char *reason = NULL;
	struct jbd2_super s;

	put_super(TAIL, FIRST);
	put32(log_block(0) + at, value);
	if (has_tag_sums() && at != 252) {
		put32(log_block(0) + 252, 0);
		put32(log_block(0) + 252, ext2fs_crc32c_le(UINT32_MAX, log_block(0), SIZE));
	}
	assert_int_equal(jbd2_super_parse(log_block(0), SIZE, &s, &reason), error);
	assert_non_null(reason);
}

static void hostile_supers(void **state)
{
	uint32_t csum = sums == SUMS_V3 ? 16U : 0;

	(void)state;
	assert_refused(0, 1, -EIO);
	assert_refused(4, 2, -EIO);
	assert_refused(12, 4096, -EIO);
	assert_refused(16, 4, -EIO);
	assert_refused(16, UINT32_MAX, -EBUSY);
	assert_refused(20, 0, -EIO);
	assert_refused(20, LOG_BLOCKS, -EIO);
	assert_refused(28, LOG_BLOCKS, -EIO);
	assert_refused(32, (uint32_t)-5, -EBUSY);
	assert_refused(40, csum | 4U, -EBUSY);
	assert_refused(40, csum | 64U, -EBUSY);
	assert_refused(40, 24U, -EIO);
	assert_refused(44, 1, -EBUSY);
	if (has_tag_sums())
		assert_refused(252, 1, -EAGAIN);
	put_super(TAIL, FIRST);
	assert_int_equal(load_of((LOG_BLOCKS - 1) * SIZE), -EIO);
}

#define SET_UP(name, kind, is_wide)                \
	static int name(void **state)              \
	{                                          \
		(void)state;                       \
		return set_up_with(kind, is_wide); \
	}
SET_UP(none, NO_SUMS, false)
SET_UP(none_wide, NO_SUMS, true)
SET_UP(by_commit, COMMIT_SUMS, false)
SET_UP(v2, SUMS_V2, false)
SET_UP(v2_wide, SUMS_V2, true)
SET_UP(v3, SUMS_V3, false)
SET_UP(v3_wide, SUMS_V3, true)

#define TEST(name, kind) cmocka_unit_test_setup_teardown(name, kind, tear_down)
#define EVERY(name)                                                                     \
	TEST(name, none), TEST(name, none_wide), TEST(name, by_commit), TEST(name, v2), \
		TEST(name, v2_wide), TEST(name, v3), TEST(name, v3_wide)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVERY(newest_copy_counts),
		EVERY(uncommitted_does_not),
		EVERY(escaped_is_restored),
		EVERY(revoked_is_at_home),
		EVERY(revoke_of_its_own_transaction),
		EVERY(wrapped_log),
		EVERY(changes_are_told),
		EVERY(cached_until_changed),
		EVERY(copy_that_left_the_log),
		EVERY(lost_thread_begins_anew),
		EVERY(emptied_and_filled_again),
		TEST(damage_is_never_the_end, by_commit),
		TEST(damage_is_never_the_end, v2),
		TEST(damage_is_never_the_end, v3_wide),
		TEST(damaged_copy, v2),
		TEST(damaged_copy, v3),
		TEST(descriptor_without_end, none),
		TEST(fast_commit_area_is_not_the_ring, v3),
		TEST(hostile_supers, none),
		TEST(hostile_supers, v3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
