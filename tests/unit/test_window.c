// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the part of a volume that libblkid sees: right bytes, right places, never much memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "parser/disks/window.h"

#define DISK_BYTES ((UINT64_C(1) << 40) + 512)
#define SECTOR 512U

static char path[] = "/tmp/vread-window-XXXXXX";
static struct image *image;
static struct volume *disk;

static void assert_shows(int fd, uint64_t offset, const char *text)
{
	char got[16] = "";

	assert_int_equal(pread(fd, got, strlen(text), (off_t)offset), strlen(text));
	assert_string_equal(got, text);
}

static struct stat status(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st;
}

static void shows_beginning_and_end(void **state)
{
	int fd = window_open(disk);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(status(fd).st_size, DISK_BYTES);
	assert_shows(fd, 0, "first");
	assert_shows(fd, DISK_BYTES - 4, "last");
	assert_int_equal(window_add(fd, disk, DISK_BYTES / 2, SECTOR), 0);
	assert_shows(fd, DISK_BYTES / 2, "middle");
	assert_int_equal(window_add(fd, disk, DISK_BYTES, SECTOR), 0);
	assert_int_equal(status(fd).st_size, DISK_BYTES);
	close(fd);
}

/* The guest can write a list of sectors all over the disk. */
static void never_takes_much_memory(void **state)
{
	int fd = window_open(disk), r = 0;
	unsigned added = 0;

	(void)state;
	assert_true(fd >= 0);
	while (r == 0 && added < 100000)
		r = window_add(fd, disk, UINT64_C(10000000) + 1000000 * added++, SECTOR);
	assert_int_equal(r, -EFBIG);
	assert_true(added > 128);
	assert_true((uint64_t)status(fd).st_blocks * 512 <= WINDOW_MAX_BYTES);
	assert_int_equal(window_add(fd, disk, 10000000, UINT64_C(1) << 39), -EFBIG);
	assert_true((uint64_t)status(fd).st_blocks * 512 <= WINDOW_MAX_BYTES);
	assert_shows(fd, DISK_BYTES - 4, "last");
	close(fd);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);
	char *error = NULL;

	(void)state;
	if (fd < 0 || ftruncate(fd, DISK_BYTES) < 0 || pwrite(fd, "first", 5, 0) != 5 ||
	    pwrite(fd, "middle", 6, DISK_BYTES / 2) != 6 ||
	    pwrite(fd, "last", 4, DISK_BYTES - 4) != 4)
		return -1;
	close(fd);
	if (image_open(path, SOURCE_BUFFERED, &image, &error) < 0)
		return -1;
	return volume_new_range(image, 0, DISK_BYTES, &disk);
}

static int tear_down(void **state)
{
	(void)state;
	volume_free(disk);
	image_close(image);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_beginning_and_end),
		cmocka_unit_test(never_takes_much_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
