// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * block_read() against a file system that is written to at chosen moments: the
 * reader of file systems is this program's own.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "block/crc_table.h"
#include "block/internal.h"

#define LENGTH (4U * REPLICA_UNIT)
#define CHUNK 512U
#define FILL 0xa5

static uint8_t data[LENGTH], sums[META_HEADER_BYTES + LENGTH / CHUNK * 4];
static uint8_t mount_count;
static bool in_use;
static unsigned stamps_taken, data_reads;
static unsigned mount_before_read; /* the owner mounts in front of that read of data */
static int read_error;             /* of data */

/* ---- the file system ---- */

/* Mounts, deletes the block, writes another into its extents. */
static void owner_replaces_block(void)
{
	in_use = true;
	mount_count++;
	memset(data, 'x', sizeof(data));
}

int fs_stamp_take(struct fs *fs, struct fs_stamp *ret)
{
	(void)fs;
	memset(ret, 0, sizeof(*ret));
	ret->super[0] = mount_count;
	stamps_taken++;
	return in_use ? -EBUSY : 0;
}

bool fs_stamp_equal(const struct fs_stamp *a, const struct fs_stamp *b)
{
	return !memcmp(a->super, b->super, sizeof(a->super));
}

int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length)
{
	bool is_meta = f->size == sizeof(sums);

	(void)fs;
	if (!is_meta && ++data_reads == mount_before_read)
		owner_replaces_block();
	if (is_meta || !read_error)
		memcpy(buf, (is_meta ? sums : data) + offset, length);
	return is_meta ? 0 : read_error;
}

void fs_file_clear(struct fs_file *f)
{
	memset(f, 0, sizeof(*f));
}

/* What is served is not this program's. */
void fs_free(struct fs *fs)
{
	assert_null(fs);
}

/* Nothing is looked for here. */
uint64_t fs_view_root(struct fs_view *v)
{
	(void)v;
	fail();
	return 0;
}

int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret)
{
	(void)v, (void)dir, (void)path, (void)ret;
	fail();
	return -EIO;
}

int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx)
{
	(void)v, (void)dir, (void)cb, (void)ctx;
	fail();
	return -EIO;
}

int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret)
{
	(void)v, (void)inode, (void)ret;
	fail();
	return -EIO;
}

/* ---- tests ---- */

static struct block_handle handle;
static uint8_t dst[LENGTH];

static int set_up(void **state)
{
	struct replica_key key = {NULL, "BP-1", 1, 1001};
	struct block_files files = {
		.data.size = LENGTH,
		.meta.size = sizeof(sums),
		.header = {META_CRC32C, CHUNK},
		.finalized = true,
	};
	struct crc_table table;
	struct fs_stamp now;

	(void)state;
	in_use = false;
	mount_before_read = 0;
	read_error = 0;
	crc_table_init(&table, CRC32C_POLYNOMIAL);
	for (unsigned i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned i = 0; i < LENGTH / CHUNK; i++) {
		uint32_t sum = htobe32(crc_table_sum(&table, data + i * CHUNK, CHUNK));

		memcpy(sums + META_HEADER_BYTES + i * 4, &sum, sizeof(sum));
	}
	fs_stamp_take(NULL, &now);
	handle.replica = replica_new(NULL, NULL, &key, &files, &now);
	handle.visible_length = LENGTH;
	memset(dst, FILL, sizeof(dst));
	data_reads = stamps_taken = 0;
	return handle.replica ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	replica_put(handle.replica);
	return 0;
}

static void assert_all(uint8_t value)
{
	for (size_t i = 0; i < sizeof(dst); i++)
		assert_int_equal(dst[i], value);
}

static void read_all(void)
{
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), LENGTH);
	assert_memory_equal(dst, data, LENGTH);
}

static void second_read_goes_straight(void **state)
{
	(void)state;
	read_all();
	assert_true(replica_is_verified(handle.replica, 0, LENGTH));
	data_reads = stamps_taken = 0;
	read_all();
	assert_int_equal(data_reads, 1);
	assert_int_equal(stamps_taken, 2);
}

static void mounted_before_a_read(void **state)
{
	(void)state;
	owner_replaces_block();
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	assert_all(FILL);
}

static void mounted_within_a_read(void **state)
{
	(void)state;
	mount_before_read = 1;
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	assert_all(FILL);
	assert_false(replica_is_verified(handle.replica, 0, 1));
}

/* Right checksums prove nothing once the .meta may be another block's. */
static void mounted_since_though_checksums_are_right(void **state)
{
	(void)state;
	in_use = true;
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	in_use = false;
	mount_count++;
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	assert_all(FILL);
}

static void mounted_before_a_second_read(void **state)
{
	(void)state;
	read_all();
	memset(dst, FILL, sizeof(dst));
	owner_replaces_block();
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	assert_all(FILL);
}

/* The one case in which other bytes reach their destination: not to stay. */
static void mounted_within_a_second_read(void **state)
{
	(void)state;
	read_all();
	memset(dst, FILL, sizeof(dst));
	mount_before_read = data_reads + 1;
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EAGAIN);
	assert_all(0);
}

static void disk_fails_at_a_second_read(void **state)
{
	(void)state;
	read_all();
	read_error = -EIO;
	assert_int_equal(block_read(&handle, 0, dst, LENGTH), -EIO);
	assert_all(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(second_read_goes_straight),    TEST(mounted_before_a_read),
		TEST(mounted_within_a_read),        TEST(mounted_since_though_checksums_are_right),
		TEST(mounted_before_a_second_read), TEST(mounted_within_a_second_read),
		TEST(disk_fails_at_a_second_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
