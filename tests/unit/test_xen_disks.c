/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests which virtual disk an image belongs to, and how it must be read then.  xenstore is a fake
 * (fakexen/), files are real, and loop devices too, where this process may create them.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "fakexen/fakexen.h"
#include "port/xen/disks.h"

#define BACKEND "/local/domain/0/backend/"

static char folder[] = "/tmp/vread-disks-XXXXXX";
static char image[64], other[64];
static sd_event *event;
static struct xen_disks *disks;
static unsigned changes;

static void changed(void *ctx)
{
	(void)ctx;
	changes++;
}

static void run_events(void)
{
	while (sd_event_run(event, 0) > 0)
		continue;
}

static void make_file(char *path, size_t size, const char *name)
{
	int fd;

	snprintf(path, size, "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	make_file(image, sizeof(image), "dn1.img");
	make_file(other, sizeof(other), "other.img");
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(xen_disks_start(&disks, event, changed, NULL), 0);
	run_events();
	changes = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	xen_disks_stop(disks);
	assert_int_equal(fake_watches(), 0);
	sd_event_unref(event);
	unlink(image);
	unlink(other);
	return 0;
}

/* Leaves the nodes as a toolstack and its hotplug script do. */
static void attach(const char *directory, const char *params, const char *device, const char *mode)
{
	fake_write(params, BACKEND "%s/params", directory);
	fake_write(mode, BACKEND "%s/mode", directory);
	fake_write("4", BACKEND "%s/state", directory);
	if (device)
		fake_write(device, BACKEND "%s/physical-device", directory);
	run_events();
}

static struct image_usage usage_of(const char *path)
{
	struct image_usage u;

	xen_disks_usage(disks, path, &u);
	return u;
}

static void expect(const char *path, enum source_mode mode, int64_t owner, const char *because)
{
	struct image_usage u = usage_of(path);

	assert_string_equal(u.because, because);
	assert_int_equal(u.mode, mode);
	assert_int_equal(u.owner, owner);
}

static void test_nobody(void **state)
{
	(void)state;
	expect(image, SOURCE_AUTO, IMAGE_NO_OWNER, "no domain can write to it");
	expect("/nonexistent", SOURCE_AUTO, IMAGE_NO_OWNER, "");
	expect(folder, SOURCE_AUTO, IMAGE_NO_OWNER, "");
}

static void test_no_xenstore(void **state)
{
	struct xen_disks *none = NULL;

	(void)state;
	fake_store_absent(true);
	assert_int_equal(xen_disks_start(&none, event, changed, NULL), -ENODEV);
	fake_store_absent(false);
}

static void test_qemu(void **state)
{
	char params[80];

	(void)state;
	snprintf(params, sizeof(params), "aio:%s", image);
	attach("qdisk/5/51712", params, NULL, "w");
	expect(image, SOURCE_BUFFERED, 5,
	       "qdisk 51712 of domain 5, written by qemu through the page cache");
	expect(other, SOURCE_AUTO, IMAGE_NO_OWNER, "no domain can write to it");
	fake_write("0", BACKEND "qdisk/5/51712/direct-io-safe");
	run_events();
	assert_int_equal(usage_of(image).mode, SOURCE_BUFFERED);
	fake_write("1", BACKEND "qdisk/5/51712/direct-io-safe");
	run_events();
	expect(image, SOURCE_DIRECT, 5, "qdisk 51712 of domain 5, written by qemu with O_DIRECT");
}

static void test_tapdisk(void **state)
{
	(void)state;
	attach("vbd3/9/51728", image, NULL, "w");
	expect(image, SOURCE_DIRECT, 9, "vbd3 51728 of domain 9, written by tapdisk with O_DIRECT");
}

static void test_other_names_of_the_same_file(void **state)
{
	char link[64], hard[64];

	(void)state;
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(hard, sizeof(hard), "%s/hard", folder);
	assert_int_equal(symlink("dn1.img", link), 0);
	assert_int_equal(linkat(AT_FDCWD, image, AT_FDCWD, hard, 0), 0);
	attach("qdisk/5/51712", link, NULL, "w");
	assert_int_equal(usage_of(hard).owner, 5);
	unlink(link);
	unlink(hard);
}

static void test_a_reader_says_nothing(void **state)
{
	(void)state;
	attach("qdisk/5/51712", image, NULL, "r");
	expect(image, SOURCE_AUTO, IMAGE_NO_OWNER, "no domain can write to it");
}

static void test_two_writers(void **state)
{
	(void)state;
	attach("qdisk/5/51712", image, NULL, "w");
	assert_string_equal(usage_of(image).warning, "");
	attach("vbd3/6/51712", image, NULL, "w!");
	/* One of the writers bypasses the page cache, so the image is read with O_DIRECT. */
	assert_int_equal(usage_of(image).mode, SOURCE_DIRECT);
	assert_string_equal(usage_of(image).warning,
			    "domains 5 and 6 can both write to it: detach it from one of them, or "
			    "its file system will be destroyed");
}

static void test_what_is_no_disk(void **state)
{
	(void)state;
	attach("vbd/5/51712", image, "nonsense", "w");
	assert_int_equal(usage_of(image).owner, 5); /* found by its path */
	fake_remove(BACKEND "vbd");
	attach("vbd/x/51712", image, NULL, "w");
	attach("vbd/5/-1", image, NULL, "w");
	attach("vbd/5/51712", "dn1.img", NULL, "w");
	attach("vbd/6/51712", "", NULL, "w");
	attach("vbd/7/51712", image, NULL, "");
	fake_write("", BACKEND "qdisk/8/1");
	run_events();
	expect(image, SOURCE_AUTO, IMAGE_NO_OWNER, "no domain can write to it");
}

static void test_changes_are_told(void **state)
{
	(void)state;
	attach("qdisk/5/51712", image, NULL, "w");
	assert_true(changes > 0);
	changes = 0;
	fake_write("5", BACKEND "qdisk/5/51712/state");
	fake_write("8192", BACKEND "qdisk/5/51712/sectors");
	run_events();
	assert_int_equal(changes, 0);
	fake_remove(BACKEND "qdisk/5");
	run_events();
	assert_true(changes > 0);
	assert_int_equal(usage_of(image).owner, IMAGE_NO_OWNER);
}

static void test_xenstore_dies(void **state)
{
	(void)state;
	attach("qdisk/5/51712", image, NULL, "w");
	assert_int_equal(usage_of(image).owner, 5);
	fake_store_dies();
	run_events(); /* does not spin */
	assert_int_equal(usage_of(image).owner, 5);
}

/* ---- loop devices ------------------------------------------------------------------- */

static bool loop_up(const char *options, char device[64])
{
	char command[160];
	FILE *f;
	bool up;

	snprintf(command, sizeof(command), "/sbin/losetup %s --find --show %s 2>/dev/null", options,
		 image);
	f = popen(command, "re");
	assert_non_null(f);
	up = fgets(device, 64, f) != NULL;
	pclose(f);
	device[strcspn(device, "\n")] = '\0';
	return up;
}

static void loop_down(const char *device)
{
	char command[96];

	snprintf(command, sizeof(command), "/sbin/losetup --detach %s", device);
	assert_int_equal(system(command), 0);
}

static void attach_loop(const char *device)
{
	char number[32];
	struct stat st;

	assert_int_equal(stat(device, &st), 0);
	snprintf(number, sizeof(number), "%x:%x", major(st.st_rdev), minor(st.st_rdev));
	attach("vbd/12/51712", device, number, "w");
}

static void test_loop_through_the_cache(void **state)
{
	char device[64];

	(void)state;
	if (!loop_up("--direct-io=off", device))
		skip();
	attach_loop(device);
	expect(image, SOURCE_BUFFERED, 12,
	       "vbd 51712 of domain 12, written by blkback through a loop device");
	loop_down(device);
}

static void test_loop_past_the_cache(void **state)
{
	char device[64];

	(void)state;
	if (!loop_up("--direct-io=on", device))
		skip();
	attach_loop(device);
	expect(image, SOURCE_DIRECT, 12,
	       "vbd 51712 of domain 12, written by blkback through a loop device with O_DIRECT");
	loop_down(device);
}

static void test_loop_told_to_go_past_it_later(void **state)
{
	char device[64], command[96];

	(void)state;
	if (!loop_up("--direct-io=off", device))
		skip();
	attach_loop(device);
	assert_int_equal(usage_of(image).mode, SOURCE_BUFFERED);
	snprintf(command, sizeof(command), "/sbin/losetup --direct-io=on %s", device);
	assert_int_equal(system(command), 0);
	assert_int_equal(usage_of(image).mode, SOURCE_DIRECT);
	loop_down(device);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_nobody),
		TEST(test_no_xenstore),
		TEST(test_qemu),
		TEST(test_tapdisk),
		TEST(test_other_names_of_the_same_file),
		TEST(test_a_reader_says_nothing),
		TEST(test_two_writers),
		TEST(test_what_is_no_disk),
		TEST(test_changes_are_told),
		TEST(test_xenstore_dies),
		TEST(test_loop_through_the_cache),
		TEST(test_loop_past_the_cache),
		TEST(test_loop_told_to_go_past_it_later),
	};
	int r;

	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(folder));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return r;
}
