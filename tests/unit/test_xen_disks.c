/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests which virtual disk an image belongs to, and how it must be read then.  xenstore is a fake
 * (fakexen/), files are real, and loop devices too, where this process may create them.  A thread
 * of this program is the opener, so that a file can hang.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "disk/opener.h"
#include "eventually.h"
#include "fakexen/fakexen.h"
#include "own_clock.h"
#include "port/xen/disks.h"

#define BACKEND "/local/domain/0/backend/"

/* ---- the opener ------------------------------------------------------------------------- */

#define HANGS "hangs" /* a file with this in its name gets no answer while `hung` */

static pthread_t opener;
static int theirs[OPENER_CHANNELS];
static atomic_bool hung, late[OPENER_CHANNELS];
static atomic_uint num_late;

static void answer(int channel, const char *path)
{
	struct stat st = {0};
	struct opener_answer a = {.result = stat(path, &st) < 0 ? -errno : 0,
				  .mode = st.st_mode,
				  .dev = st.st_dev,
				  .ino = st.st_ino,
				  .rdev = st.st_rdev};

	assert_int_equal(send(theirs[channel], &a, sizeof(a), 0), sizeof(a));
}

/* False: the other end is closed. */
static bool take_request(int channel)
{
	char request[OPENER_MAX_REQUEST], *path = request + sizeof(struct opener_request);

	if (recv(theirs[channel], request, sizeof(request), 0) <= 0)
		return false;
	if (!atomic_load(&hung) || !strstr(path, HANGS)) {
		answer(channel, path);
		return true;
	}
	atomic_store(&late[channel], true);
	atomic_fetch_add(&num_late, 1);
	return true;
}

static void *open_for_ever(void *unused)
{
	struct pollfd fds[OPENER_CHANNELS];
	bool goes_on = true;

	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		fds[i] = (struct pollfd){.fd = theirs[i], .events = POLLIN};
	while (goes_on && poll(fds, OPENER_CHANNELS, -1) > 0)
		for (unsigned i = 0; i < OPENER_CHANNELS && goes_on; i++)
			if (fds[i].revents)
				goes_on = take_request((int)i);
	return unused;
}

static void start_opener(void)
{
	int pair[2], ours[OPENER_CHANNELS];
	const struct opener_answer ready = {0};

	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	assert_int_equal(send(theirs[0], &ready, sizeof(ready), 0), sizeof(ready));
	assert_int_equal(opener_use(ours), 0);
	assert_int_equal(pthread_create(&opener, NULL, open_for_ever, NULL), 0);
}

static void end_opener(void)
{
	opener_end();
	pthread_join(opener, NULL);
	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		close(theirs[i]);
}

/* The storage answers again, and what it was asked meanwhile, too. */
static void heal(void)
{
	atomic_store(&hung, false);
	for (int i = 0; i < (int)OPENER_CHANNELS; i++)
		if (atomic_exchange(&late[i], false))
			answer(i, "/");
	atomic_store(&num_late, 0);
}

/* ---- the disks -------------------------------------------------------------------------- */

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
	struct image_usage u = {.owner = IMAGE_NO_OWNER};

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

/* ---- storage that hangs ----------------------------------------------------------------- */

/* Asks for a usage on a thread of its own. */
struct look {
	pthread_t thread;
	const char *path;
	struct image_usage usage;
};

static void *run_look(void *arg)
{
	struct look *l = arg;

	xen_disks_usage(disks, l->path, &l->usage);
	return NULL;
}

/* Returns when the look waits for a file that hangs. */
static void begin_look(struct look *l, const char *path)
{
	*l = (struct look){.path = path, .usage = usage_of(path)};
	atomic_store(&hung, true);
	assert_int_equal(pthread_create(&l->thread, NULL, run_look, l), 0);
	eventually(atomic_load(&num_late) > 0);
}

/* Lets time pass until the look has ended. Returns the owner that it found. */
static int64_t end_look(struct look *l)
{
	while (pthread_tryjoin_np(l->thread, NULL) == EBUSY) {
		own_clock_advance(100);
		clock_rest_us(1000);
	}
	return l->usage.owner;
}

static void make_link(char path[64], const char *name)
{
	snprintf(path, 64, "%s/%s", folder, name);
	unlink(path);
	assert_int_equal(symlink("dn1.img", path), 0);
}

static void test_a_disk_that_hangs_delays_one_look(void **state)
{
	char hanging[64], link[64];
	struct look l;

	(void)state;
	make_file(hanging, sizeof(hanging), HANGS);
	make_link(link, "link");
	attach("qdisk/5/51712", hanging, NULL, "w");
	attach("qdisk/6/51712", link, NULL, "w");
	begin_look(&l, image);
	assert_int_equal(end_look(&l), 6);
	assert_int_equal(usage_of(image).owner, 6); /* now, without the clock */
	assert_int_equal(usage_of(other).owner, IMAGE_NO_OWNER);
	assert_int_equal(atomic_load(&num_late), 1);
	heal();
	assert_int_equal(usage_of(hanging).owner, 5);
	unlink(hanging);
	unlink(link);
}

/* Looks of other datanodes go on, while one look waits. */
static void test_a_disk_that_hangs_stays_what_it_was(void **state)
{
	char hanging[64];
	struct look l;

	(void)state;
	make_link(hanging, HANGS);
	attach("qdisk/5/51712", hanging, NULL, "w");
	begin_look(&l, image);
	assert_int_equal(usage_of(image).owner, 5);
	attach("vbd3/9/51728", other, NULL, "w");
	assert_int_equal(usage_of(image).owner, 5);
	assert_int_equal(usage_of(other).owner, 9);
	assert_int_equal(end_look(&l), 5);
	assert_int_equal(usage_of(image).owner, 5);
	heal();
	assert_int_equal(usage_of(image).owner, 5);
	unlink(hanging);
}

static void test_an_image_that_hangs_stays_what_it_was(void **state)
{
	char hanging[64];
	struct look l;

	(void)state;
	make_file(hanging, sizeof(hanging), HANGS);
	attach("qdisk/5/51712", hanging, NULL, "w");
	begin_look(&l, hanging);
	assert_int_equal(end_look(&l), 5);
	heal();
	unlink(hanging);
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
		TEST(test_a_disk_that_hangs_delays_one_look),
		TEST(test_a_disk_that_hangs_stays_what_it_was),
		TEST(test_an_image_that_hangs_stays_what_it_was),
		TEST(test_loop_through_the_cache),
		TEST(test_loop_past_the_cache),
		TEST(test_loop_told_to_go_past_it_later),
	};
	int r;

	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(folder));
	own_clock_start();
	start_opener();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	end_opener();
	own_clock_end();
	rmdir(folder);
	return r;
}
