// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests how often users may connect to the local port (port/local/users.h, base/pace.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "port/local/users.h"

#define NOW 5000000U

static void use_up(struct local_users *u, uid_t uid, uint64_t now)
{
	for (unsigned i = 0; i < LOCAL_CONNECTS_AT_ONCE; i++)
		assert_true(local_users_connect(u, uid, now));
	assert_false(local_users_connect(u, uid, now));
}

static void each_user_has_turns(void **state)
{
	struct local_users u = {0};

	(void)state;
	use_up(&u, 1000, NOW);
	use_up(&u, 1001, NOW);
	assert_false(local_users_connect(&u, 1000, NOW + LOCAL_CONNECT_EACH_MS - 1));
	assert_true(local_users_connect(&u, 1000, NOW + LOCAL_CONNECT_EACH_MS));
	assert_false(local_users_connect(&u, 1000, NOW + LOCAL_CONNECT_EACH_MS));
	use_up(&u, 1001, NOW + LOCAL_CONNECTS_AT_ONCE * LOCAL_CONNECT_EACH_MS);
}

/* A user whose turns are used up keeps its place, whoever else connects. */
static void many_users(void **state)
{
	struct local_users u = {0};

	(void)state;
	use_up(&u, 1000, NOW);
	for (uid_t uid = 2000; uid < 2000 + 2 * LOCAL_MAX_USERS; uid++)
		assert_true(local_users_connect(&u, uid, NOW));
	assert_false(local_users_connect(&u, 1000, NOW));
}

static void pace_of_one(void **state)
{
	const struct pace_limit l = {.burst = 1, .each_ms = 1000};
	struct pace p = {0};

	(void)state;
	assert_int_equal(pace_wait(&p, &l, NOW), 0);
	pace_use(&p, &l, NOW);
	assert_int_equal(pace_wait(&p, &l, NOW), 1000);
	assert_int_equal(pace_wait(&p, &l, NOW + 999), 1);
	assert_int_equal(pace_wait(&p, &l, NOW + 1000), 0);
	pace_use(&p, &l, NOW); /* without a turn */
	assert_int_equal(pace_wait(&p, &l, NOW), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_user_has_turns),
		cmocka_unit_test(many_users),
		cmocka_unit_test(pace_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
