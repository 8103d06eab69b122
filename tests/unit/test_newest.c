// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests how the newest replicas of a pool are found (parser/hdfs/newest.h).  This program fakes the
 * file system: a directory with two levels of folders and the names in them.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "parser/hdfs/newest.h"

#define SUBDIRS 32U
#define FOLDERS (SUBDIRS * SUBDIRS)
#define STAMP 1001U
#define FINALIZED 1U
#define OUTER 100U    /* inode of the first outer folder */
#define INNER 1000U   /* of the first inner folder */
#define NOTHING 5000U /* of a file */

/* Blocks first to last, of which every step-th is here. */
static int64_t first, last, step;
static bool is_file; /* in place of folder 7 of the outer ones */
static unsigned reads, disturbed;
static struct replica_name names[NEWEST_MAX];
static unsigned count;

static unsigned folder_of(int64_t id)
{
	return (unsigned)(id >> 8) % FOLDERS;
}

/* The blocks of one folder are 256 in each FOLDERS * 256 ids. */
static int each_block(unsigned folder, fs_list_cb *cb, void *ctx)
{
	char name[64];
	int r = 0;

	for (int64_t id = first; id <= last && r == 0; id += step) {
		if (folder_of(id) != folder)
			continue;
		snprintf(name, sizeof(name), "blk_%" PRId64, id);
		r = cb(ctx, name, NOTHING);
		snprintf(name, sizeof(name), "blk_%" PRId64 "_%u.meta", id, STAMP);
		r = r ?: cb(ctx, name, NOTHING);
	}
	return r;
}

static bool is_there(unsigned folder)
{
	for (int64_t id = first; id <= last; id += step)
		if (folder_of(id) == folder)
			return true;
	return false;
}

static int each_folder(uint64_t dir, fs_list_cb *cb, void *ctx)
{
	char name[16];
	int r = 0;

	for (unsigned i = 0; i < SUBDIRS && r == 0; i++) {
		unsigned folder = (unsigned)(dir - OUTER) * SUBDIRS + i;

		snprintf(name, sizeof(name), "subdir%u", i);
		if (dir == FINALIZED)
			r = cb(ctx, name, is_file && i == 7 ? NOTHING : OUTER + i);
		else if (is_there(folder))
			r = cb(ctx, name, INNER + folder);
	}
	return r ?: cb(ctx, "subdir32", NOTHING) ?: cb(ctx, "subdir1x", NOTHING);
}

int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx)
{
	(void)v;
	if (dir == NOTHING)
		return -ENOTDIR;
	if (dir < INNER)
		return each_folder(dir, cb, ctx);
	reads++;
	return each_block((unsigned)(dir - INNER), cb, ctx);
}

int fs_view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason)
{
	(void)fs, (void)ret_reason;
	*ret = NULL;
	return 0;
}

void fs_view_close(struct fs_view *v)
{
	(void)v;
}

int fs_view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	(void)v, (void)ret, (void)ret_watch;
	return disturbed && disturbed-- ? -EAGAIN : 0;
}

uint64_t fs_view_root(struct fs_view *v)
{
	(void)v;
	return 2;
}

int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret_inode)
{
	(void)v, (void)dir;
	*ret_inode = FINALIZED;
	return strcmp(path, "/finalized") ? -ENOENT : 0;
}

/* Not called: files are not read here. */
int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret)
{
	(void)v, (void)inode, (void)ret;
	fail();
	return -EIO;
}

int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length)
{
	(void)fs, (void)f, (void)offset, (void)buf, (void)length;
	fail();
	return -EIO;
}

bool fs_file_head_settled(struct fs *fs, const struct fs_file *f, uint64_t length)
{
	(void)fs, (void)f, (void)length;
	fail();
	return false;
}

static int find(void)
{
	reads = 0;
	return newest_replicas(NULL, "/finalized", names, &count);
}

/* Asserts that the blocks up to the last one are found, from the last one on. */
static void assert_newest(unsigned expected)
{
	assert_int_equal(find(), 0);
	assert_int_equal(count, expected);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(names[i].id, last - i * step);
		assert_int_equal(names[i].genstamp, STAMP);
	}
	assert_true(reads < 16);
}

static void of_few(void **state)
{
	(void)state;
	first = last = (1 << 30) + 1;
	assert_newest(1);
	last += 4;
	assert_newest(5);
	first = last = (1 << 30) + 5 * 256 + 3; /* only one folder, and not the first */
	assert_newest(1);
}

static void of_none(void **state)
{
	(void)state;
	first = 1;
	last = 0;
	assert_newest(0);
	first = last = -(1LL << 40); /* striped */
	assert_int_equal(find(), 0);
	assert_int_equal(count, 0);
}

/* The last block is in each place of the row of folders in turn. */
static void in_the_first_round(void **state)
{
	(void)state;
	first = 1 << 30;
	for (unsigned n = 1; n < 200000; n += 13337) {
		last = first + n;
		assert_newest(n + 1 < NEWEST_MAX ? n + 1 : NEWEST_MAX);
	}
}

static void in_later_rounds(void **state)
{
	(void)state;
	first = 1 << 30;
	for (unsigned n = 262144; n < 900000; n += 47777) {
		last = first + n;
		assert_newest(NEWEST_MAX);
	}
}

/* The newest folder has one block so far: the others come from the folder before. */
static void a_folder_was_just_begun(void **state)
{
	(void)state;
	first = 1 << 30;
	last = first + 77 * 256;
	assert_newest(NEWEST_MAX);
}

/* A datanode of a large cluster has few of the blocks. */
static void of_every_fiftieth_block(void **state)
{
	(void)state;
	step = 50;
	first = 1 << 30;
	last = first + 50 * 12000;
	assert_int_equal(find(), 0);
	for (unsigned i = 0; i < 5; i++) /* a whole folder has so many */
		assert_int_equal(names[i].id, last - i * step);
}

static void a_file_is_no_folder(void **state)
{
	(void)state;
	is_file = true;
	first = 1 << 30;
	last = first + 10000;
	assert_newest(NEWEST_MAX);
}

/* The owner writes: a search is repeated, but not for ever. */
static void disturbed_by_the_owner(void **state)
{
	(void)state;
	first = last = 1 << 30;
	disturbed = 2;
	assert_newest(1);
	disturbed = UINT32_MAX;
	assert_int_equal(find(), -EAGAIN);
}

static void there_is_no_pool(void **state)
{
	(void)state;
	assert_int_equal(newest_replicas(NULL, "/elsewhere", names, &count), -ENOENT);
	assert_int_equal(count, 0);
}

static int set_up(void **state)
{
	(void)state;
	step = 1;
	is_file = false;
	disturbed = 0;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_few),
		TEST(of_none),
		TEST(in_the_first_round),
		TEST(in_later_rounds),
		TEST(a_folder_was_just_begun),
		TEST(of_every_fiftieth_block),
		TEST(a_file_is_no_folder),
		TEST(disturbed_by_the_owner),
		TEST(there_is_no_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
