// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests reads of an image: bounds, the bounce buffer of O_DIRECT, files that are no image. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/waiting.h"
#include "disk/source.h"

#define SIZE (1000000U) /* no multiple of a sector */

static char path[64];
static uint8_t content[SIZE];

/* The file is in the working directory, because a tmpfs has no O_DIRECT. */
static int make_image(void **state)
{
	int fd;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 2654435761U >> 13);
	strcpy(path, "source-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, content, SIZE) != (ssize_t)SIZE || fsync(fd) < 0)
		return -1;
	return close(fd);
}

static int remove_image(void **state)
{
	(void)state;
	return unlink(path);
}

static void check_reads(enum source_mode mode)
{
	static const struct {
		uint64_t offset;
		size_t length;
	} range[] = {
		{0, 1},        {0, 4096},           {1, 4096},       {511, 2},
		{4096, 65536}, {4095, 262147},      {12345, 600000}, {0, SIZE},
		{SIZE - 1, 1}, {SIZE - 4097, 4097}, {SIZE, 0},       {SIZE & ~4095U, SIZE & 4095U},
	};
	uint8_t *buf = aligned_alloc(4096, 1 << 20);
	struct source *s;
	char *error = NULL;

	assert_int_equal(source_open(path, mode, &s, &error), 0);
	assert_int_equal(source_size(s), SIZE);
	assert_int_equal(source_is_direct(s), mode == SOURCE_DIRECT);
	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
		for (size_t shift = 0; shift < 2; shift++) {
			memset(buf, 0, 1 << 20);
			assert_int_equal(source_read(s, range[i].offset, buf + shift,
						     range[i].length),
					 0);
			assert_memory_equal(buf + shift, content + range[i].offset,
					    range[i].length);
			assert_int_equal(buf[shift + range[i].length], 0);
		}
	assert_int_equal(source_read(s, SIZE, buf, 1), -EIO);
	assert_int_equal(source_read(s, SIZE - 1, buf, 2), -EIO);
	assert_int_equal(source_read(s, UINT64_MAX, buf, 2), -EIO);
	assert_int_equal(source_read(s, 0, buf, SIZE_MAX), -EIO);
	source_close(s);
	free(buf);
}

static void buffered(void **state)
{
	(void)state;
	check_reads(SOURCE_AUTO);
}

static void direct(void **state)
{
	int fd = open(path, O_RDONLY | O_DIRECT);

	(void)state;
	if (fd < 0)
		skip();
	close(fd);
	check_reads(SOURCE_DIRECT);
}

static void count_one(void *count)
{
	++*(unsigned *)count;
}

/* A read that waits for the disk says so before, and a read of bytes in memory says nothing. */
static void announced(void **state)
{
	uint8_t *buf = aligned_alloc(4096, 1 << 20);
	uint64_t before = source_waits();
	unsigned count = 0;
	struct source *s;
	char *error = NULL;

	(void)state;
	assert_int_equal(source_open(path, SOURCE_BUFFERED, &s, &error), 0);
	waiting_set_hook(count_one, &count);
	assert_int_equal(source_read(s, 0, buf, SIZE), 0);
	assert_int_equal(count, source_waits() - before); /* 0 unless memory was short */
	posix_fadvise(source_fd(s), 0, SIZE, POSIX_FADV_DONTNEED);
	assert_int_equal(source_read(s, 0, buf, SIZE), 0);
	assert_int_equal(count, source_waits() - before); /* 1 if the file system can tell */
	source_close(s);
	waiting_set_hook(NULL, NULL);
	free(buf);
}

static void announced_direct(void **state)
{
	uint8_t *buf = aligned_alloc(4096, 4096);
	unsigned count = 0;
	struct source *s;
	char *error = NULL;

	(void)state;
	if (source_open(path, SOURCE_DIRECT, &s, &error)) {
		free(error);
		free(buf);
		skip();
	}
	waiting_set_hook(count_one, &count);
	assert_int_equal(source_read(s, 4096, buf, 4096), 0);
	assert_int_equal(count, 1);
	assert_int_equal(source_read(s, SIZE, buf, 1), -EIO); /* reads nothing */
	assert_int_equal(count, 1);
	waiting_set_hook(NULL, NULL);
	source_close(s);
	free(buf);
}

static void cut_while_open(void **state)
{
	struct source *s;
	char *error = NULL;
	uint8_t buf[16];

	(void)state;
	assert_int_equal(source_open(path, SOURCE_AUTO, &s, &error), 0);
	assert_int_equal(truncate(path, 1000), 0);
	assert_int_equal(source_read(s, 990, buf, 10), 0);
	assert_int_equal(source_read(s, 990, buf, 11), -EIO);
	source_close(s);
}

static void refused(const char *name, int expected, const char *said)
{
	struct source *s;
	char *error = NULL;

	assert_int_equal(source_open(name, SOURCE_AUTO, &s, &error), expected);
	if (!error || !strstr(error, said) || !strstr(error, name))
		fail_msg("expected ...%s..., got: %s", said, error);
	free(error);
}

static void no_images(void **state)
{
	(void)state;
	refused("/nonexistent/disk.raw", -ENOENT, "No such file or directory");
	refused("/", -EISDIR, "is a directory");
	refused("/dev/null", -EINVAL, "neither a regular file nor a block device");
	assert_int_equal(mkfifo("fifo-of-test", 0600), 0);
	refused("fifo-of-test", -EINVAL, "neither a regular file nor a block device");
	unlink("fifo-of-test");
	assert_int_equal(truncate(path, 0), 0);
	refused(path, -ENODATA, "is empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(buffered, make_image, remove_image),
		cmocka_unit_test_setup_teardown(direct, make_image, remove_image),
		cmocka_unit_test_setup_teardown(announced, make_image, remove_image),
		cmocka_unit_test_setup_teardown(announced_direct, make_image, remove_image),
		cmocka_unit_test_setup_teardown(cut_while_open, make_image, remove_image),
		cmocka_unit_test_setup_teardown(no_images, make_image, remove_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
