// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests what users of the local port may hold, and how often they may connect (port/local/users.h,
 * base/pace.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "port/local/users.h"

#define NOW 5000000U

static void use_up(struct local_user *user, uint64_t now)
{
	for (unsigned i = 0; i < LOCAL_CONNECTS_AT_ONCE; i++)
		assert_null(local_user_connect(user, now));
	assert_non_null(local_user_connect(user, now));
}

static void each_user_has_turns(void **state)
{
	struct local_users u = {0};
	struct local_user *a = local_users_find(&u, 1000), *b = local_users_find(&u, 1001);

	(void)state;
	assert_ptr_equal(local_users_find(&u, 1000), a);
	use_up(a, NOW);
	use_up(b, NOW);
	assert_non_null(local_user_connect(a, NOW + LOCAL_CONNECT_EACH_MS - 1));
	assert_null(local_user_connect(a, NOW + LOCAL_CONNECT_EACH_MS));
	assert_non_null(local_user_connect(a, NOW + LOCAL_CONNECT_EACH_MS));
	use_up(b, NOW + LOCAL_CONNECTS_AT_ONCE * LOCAL_CONNECT_EACH_MS);
	local_users_free(&u);
}

static void violations_cost_turns(void **state)
{
	struct local_users u = {0};
	struct local_user *a = local_users_find(&u, 1000);

	(void)state;
	for (unsigned i = 0; i < LOCAL_VIOLATIONS_AT_ONCE; i++) {
		assert_null(local_user_connect(a, NOW));
		local_user_violated(a, NOW);
	}
	assert_non_null(local_user_connect(a, NOW));
	assert_null(local_user_connect(local_users_find(&u, 1001), NOW));
	assert_null(local_user_connect(a, NOW + LOCAL_VIOLATION_EACH_MS));
	local_users_free(&u);
}

/* A user whose turns are used up, or who holds something, is remembered whoever else connects. */
static void many_users(void **state)
{
	struct local_users u = {.most = {[LOCAL_HELLOS] = 1000}};
	struct local_user *holder = local_users_find(&u, 999);

	(void)state;
	use_up(local_users_find(&u, 1000), NOW);
	assert_true(local_users_take(&u, holder, LOCAL_HELLOS, 1));
	for (uid_t uid = 2000; uid < 2000 + 2 * LOCAL_IDLE_USERS; uid++)
		assert_null(local_user_connect(local_users_find(&u, uid), NOW));
	assert_non_null(local_user_connect(local_users_find(&u, 1000), NOW));
	assert_ptr_equal(local_users_find(&u, 999), holder);
	local_users_free(&u);
}

static unsigned take_all(struct local_users *u, uid_t uid, enum local_place kind)
{
	unsigned count = 0;

	while (local_users_take(u, local_users_find(u, uid), kind, 1))
		count++;
	return count;
}

/* One user has all that one may hold. Each further user finds half of what the last one found. */
static void places_of_many_users(void **state)
{
	struct local_users u = {.most = {[LOCAL_CONNECTIONS] = 64, [LOCAL_PAGES] = 1}};

	(void)state;
	assert_int_equal(take_all(&u, 1000, LOCAL_CONNECTIONS), 64);
	assert_int_equal(take_all(&u, 1001, LOCAL_CONNECTIONS), 32);
	assert_int_equal(take_all(&u, 1002, LOCAL_CONNECTIONS), 16);
	assert_int_equal(take_all(&u, 1003, LOCAL_CONNECTIONS), 8);
	assert_int_equal(take_all(&u, 1003, LOCAL_PAGES), 1);
	local_users_give_back(&u, local_users_find(&u, 1000), LOCAL_CONNECTIONS, 64);
	assert_int_equal(take_all(&u, 1001, LOCAL_CONNECTIONS), 20);
	assert_int_equal(u.held[LOCAL_CONNECTIONS], 32 + 16 + 8 + 20); /* 52 of one, 52 are free */
	local_users_free(&u);
}

/* Many at once count as one after the other; the largest numbers that may be configured fit. */
static void many_places_at_once(void **state)
{
	struct local_users u = {.most = {[LOCAL_PAGES] = 268435456}};
	struct local_user *a = local_users_find(&u, 1000), *b = local_users_find(&u, 1001);

	(void)state;
	assert_false(local_users_take(&u, a, LOCAL_PAGES, 268435457));
	assert_true(local_users_take(&u, a, LOCAL_PAGES, 268435456));
	assert_false(local_users_take(&u, a, LOCAL_PAGES, 1));
	assert_false(local_users_take(&u, b, LOCAL_PAGES, 134217729));
	assert_true(local_users_take(&u, b, LOCAL_PAGES, 134217728));
	local_users_free(&u);
}

/* After a reload with a lower limit. */
static void fewer_places_than_are_held(void **state)
{
	struct local_users u = {.most = {[LOCAL_CONNECTIONS] = 8}};

	(void)state;
	assert_int_equal(take_all(&u, 1000, LOCAL_CONNECTIONS), 8);
	u.most[LOCAL_CONNECTIONS] = 2;
	assert_int_equal(take_all(&u, 1001, LOCAL_CONNECTIONS), 0);
	local_users_give_back(&u, local_users_find(&u, 1000), LOCAL_CONNECTIONS, 7);
	assert_int_equal(take_all(&u, 1000, LOCAL_CONNECTIONS), 1);
	local_users_free(&u);
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
		cmocka_unit_test(each_user_has_turns), cmocka_unit_test(violations_cost_turns),
		cmocka_unit_test(many_users),          cmocka_unit_test(places_of_many_users),
		cmocka_unit_test(many_places_at_once), cmocka_unit_test(fewer_places_than_are_held),
		cmocka_unit_test(pace_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
