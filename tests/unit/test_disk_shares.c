// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests disk/shares.h: how many bytes each client may be reading ahead from a disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "disk/shares.h"

#define DISK makedev(8, 0)
#define OTHER makedev(8, 16)
#define WINDOW (8U << 20)

static const char a, b;

static int set_up(void **state)
{
	*state = shares_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	shares_free(*state);
	return 0;
}

static void one_gets_what_it_wants(void **state)
{
	assert_int_equal(shares_window(*state, DISK, &a, WINDOW), 0); /* did not join */
	assert_int_equal(shares_join(*state, DISK, &a), 0);
	assert_int_equal(shares_window(*state, DISK, &a, WINDOW), WINDOW);
	assert_int_equal(shares_window(*state, OTHER, &a, WINDOW), 0);
	assert_int_equal(shares_window(*state, DISK, &a, 1ULL << 40), SHARES_MOST);
}

/* A client with more streams gets no more than another client. */
static void clients_are_equal_not_streams(void **state)
{
	for (unsigned i = 0; i < 7; i++)
		shares_join(*state, DISK, &a);
	shares_join(*state, DISK, &b);
	assert_int_equal(7 * shares_window(*state, DISK, &a, 7 * WINDOW),
			 shares_window(*state, DISK, &b, 7 * WINDOW) / 7 * 7);
}

static void sum_is_bounded(void **state)
{
	static char clients[200];
	uint64_t sum = 0;

	for (unsigned i = 0; i < 100; i++)
		shares_join(*state, DISK, &clients[i]);
	for (unsigned i = 0; i < 100; i++)
		sum += shares_window(*state, DISK, &clients[i], WINDOW);
	assert_true(sum <= SHARES_MOST);
	for (unsigned i = 100; i < 200; i++)
		shares_join(*state, DISK, &clients[i]);
	assert_int_equal(shares_window(*state, DISK, &clients[0], WINDOW), SHARES_LEAST);
	shares_join(*state, OTHER, &a);
	assert_int_equal(shares_window(*state, OTHER, &a, WINDOW), WINDOW);
}

static void leaving_gives_back(void **state)
{
	json_t *status;

	shares_join(*state, DISK, &a);
	shares_join(*state, DISK, &a);
	shares_join(*state, DISK, &b);
	status = shares_status(*state);
	assert_int_equal(json_array_size(status), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(status, 0), "disk")),
			    "8:0");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(status, 0), "clients")),
			 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(status, 0), "streams")),
			 3);
	json_decref(status);
	shares_leave(*state, DISK, &b);
	shares_leave(*state, DISK, &a);
	assert_int_equal(shares_window(*state, DISK, &a, SHARES_MOST), SHARES_MOST);
	assert_int_equal(shares_window(*state, DISK, &b, WINDOW), 0);
	shares_leave(*state, DISK, &a);
	status = shares_status(*state);
	assert_int_equal(json_array_size(status), 0);
	json_decref(status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_gets_what_it_wants),
		TEST(clients_are_equal_not_streams),
		TEST(sum_is_bounded),
		TEST(leaving_gives_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
