// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests read/cache_size.h on files like those of the kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "read/cache_size.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define GROUP "sys/fs/cgroup/system.slice/vreadd.service/"

static char root[] = "/tmp/cache-size-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_number(const char *name, unsigned long long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", n);
	put(name, text);
}

static void put_host(unsigned long long available)
{
	char text[128];

	snprintf(text, sizeof(text), "MemTotal:  99 kB\nMemFree:  7 kB\nMemAvailable:  %llu kB\n",
		 available >> 10);
	put("proc/meminfo", text);
}

static void put_group(const char *group, unsigned long long max, unsigned long long current,
		      unsigned long long files)
{
	char name[128], text[128];

	snprintf(name, sizeof(name), "%smemory.max", group);
	put_number(name, max);
	snprintf(name, sizeof(name), "%smemory.current", group);
	put_number(name, current);
	snprintf(name, sizeof(name), "%smemory.stat", group);
	snprintf(text, sizeof(text), "anon 5\nfile 99999\ninactive_file %llu\nactive_file 4096\n",
		 files - 4096);
	put(name, text);
}

static void assert_size(size_t used, unsigned long long size, const char *limited_by)
{
	const char *by = NULL;

	assert_int_equal(cache_size_now(root, used, &by), size);
	assert_string_equal(by, limited_by);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/cache-size-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void half_of_what_is_available(void **state)
{
	(void)state;
	put_host(8 * GIB);
	assert_size(0, 4 * GIB, "host");
	/* What the cache takes is no longer available, and does not make the cache smaller. */
	put_host(5 * GIB);
	assert_size(3 * GIB, 4 * GIB, "host");
	put_host(8 * GIB + 2 * MIB - 1);
	assert_size(0, 4 * GIB, "host"); /* whole MiB */
}

static void the_host_keeps_its_reserve(void **state)
{
	(void)state;
	put_host(800 * MIB);
	assert_size(0, 288 * MIB, "host");
	/* Others took memory: the cache gives back what the reserve lacks. */
	put_host(100 * MIB);
	assert_size(600 * MIB, 188 * MIB, "host");
}

static void the_least_is_always_there(void **state)
{
	(void)state;
	put_host(0);
	assert_size(0, CACHE_SIZE_LEAST, "least");
	assert_size(100 * MIB, CACHE_SIZE_LEAST, "least");
	put_host(512 * MIB + 64 * MIB);
	assert_size(0, CACHE_SIZE_LEAST, "host");
}

static void an_unknown_host_gets_the_least(void **state)
{
	(void)state;
	assert_size(0, CACHE_SIZE_LEAST, "unknown");
	put("proc/meminfo", "MemAvailable:\nMemAvailable: -5 kB\nnonsense\n");
	assert_size(0, CACHE_SIZE_LEAST, "unknown");
	put("proc/meminfo", "MemAvailable: 99999999999999999999999 kB\n");
	assert_size(0, CACHE_SIZE_LEAST, "unknown");
}

/* As for a service without /proc/meminfo. */
static void memory_nodes_are_added_up(void **state)
{
	static const char node[] = "Node 0 MemTotal:  99 kB\nNode 0 MemFree:  1048576 kB\n"
				   "Node 0 Active(file):  1048576 kB\n"
				   "Node 0 Inactive(file):  524288 kB\n"
				   "Node 0 Inactive:  777 kB\nNode 0 KReclaimable:  524288 kB\n";

	(void)state;
	put("sys/devices/system/node/node0/meminfo", node);
	assert_size(0, 3 * GIB / 2, "host");
	put("sys/devices/system/node/node1/meminfo", node);
	assert_size(0, 3 * GIB, "host");
	put_host(8 * GIB);
	assert_size(0, 4 * GIB, "host"); /* the kernel's own estimate counts if there is one */
}

static void the_service_keeps_within_its_limit(void **state)
{
	(void)state;
	put_host(64 * GIB);
	put("proc/self/cgroup", "1:name=systemd:/x\n0::/system.slice/vreadd.service\n");
	assert_size(0, 32 * GIB, "host"); /* no limit */
	put_group(GROUP, 8 * GIB, 2 * GIB, 1 * GIB);
	assert_size(0, 5 * GIB, "service"); /* page cache does not count, a quarter is left */
	put_group(GROUP, 8 * GIB, 6 * GIB, 1 * GIB);
	assert_size(4 * GIB, 5 * GIB, "service"); /* as before, and 4 GiB are the cache's */
	put_group(GROUP, 8 * GIB, 7 * GIB, 4096);
	assert_size(4 * GIB, 3 * GIB, "service"); /* the rest of vreadd needs more */
	put_group(GROUP, 1 * GIB, 1 * GIB, 4096);
	assert_size(0, CACHE_SIZE_LEAST, "least");
	put(GROUP "memory.max", "max\n");
	assert_size(0, 32 * GIB, "host");
}

static void groups_above_count(void **state)
{
	(void)state;
	put_host(64 * GIB);
	put("proc/self/cgroup", "0::/system.slice/vreadd.service\n");
	put_group(GROUP, 16 * GIB, 1 * GIB, 4096);
	put_group("sys/fs/cgroup/system.slice/", 4 * GIB, 1 * GIB, 4096);
	assert_size(0, 2 * GIB, "service");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(half_of_what_is_available), TEST(the_host_keeps_its_reserve),
		TEST(the_least_is_always_there), TEST(an_unknown_host_gets_the_least),
		TEST(memory_nodes_are_added_up), TEST(the_service_keeps_within_its_limit),
		TEST(groups_above_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
