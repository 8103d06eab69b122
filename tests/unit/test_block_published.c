/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests withdrawals of blocks (datanode/published.h): by generation stamp, age and number, and
 * that an event waits for answers that were judged before it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "datanode/published.h"
#include "eventually.h"
#include "vreadif.h"

#define POOL "BP-1"
#define START ((time_t)1000)

static int set_up(void **state)
{
	*state = published_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	published_put(*state);
	return 0;
}

static void take_in(void *p, const char *pool, unsigned event, int64_t id, uint64_t genstamp,
		    time_t now)
{
	const struct published_event e = {pool, id, genstamp, event};

	assert_int_equal(published_take(p, &e, now), 0);
}

static void take(void *p, unsigned event, int64_t id, uint64_t genstamp)
{
	take_in(p, POOL, event, id, genstamp, START);
}

static bool withdrawn_at(void *p, int64_t id, uint64_t genstamp, time_t now)
{
	bool r;

	published_hold(p);
	r = published_withdrawn(p, POOL, id, genstamp, now);
	published_release(p);
	return r;
}

static bool withdrawn(void *p, int64_t id, uint64_t genstamp)
{
	return withdrawn_at(p, id, genstamp, START);
}

static long count(void *p, const char *name, time_t now)
{
	json_t *o = published_json(p, now);
	long n = (long)json_integer_value(json_object_get(o, name));

	json_decref(o);
	return n;
}

static void test_up_to_the_stamp(void **state)
{
	take(*state, VREAD_PUBLISH_APPEND, 7, 1000);
	assert_true(withdrawn(*state, 7, 0));
	assert_true(withdrawn(*state, 7, 1000));
	assert_false(withdrawn(*state, 7, 1001));
	assert_false(withdrawn(*state, 8, 1000));
	take(*state, VREAD_PUBLISH_DELETE, 7, 999);
	assert_true(withdrawn(*state, 7, 1000));
	take(*state, VREAD_PUBLISH_TRUNCATE, 7, UINT64_MAX);
	assert_true(withdrawn(*state, 7, UINT64_MAX));
	assert_int_equal(count(*state, "withdrawn", START), 1);
}

static void test_finalized_lifts_up_to_its_own(void **state)
{
	take(*state, VREAD_PUBLISH_FINALIZED, 7, 5);
	take(*state, VREAD_PUBLISH_APPEND, 7, 1000);
	take(*state, VREAD_PUBLISH_FINALIZED, 7, 999);
	take(*state, VREAD_PUBLISH_FINALIZED, 8, 1000);
	assert_true(withdrawn(*state, 7, 1000));
	take(*state, VREAD_PUBLISH_FINALIZED, 7, 1000);
	assert_false(withdrawn(*state, 7, 1));
	assert_int_equal(count(*state, "withdrawn", START), 0);
	assert_int_equal(count(*state, "finalized", START), 4);
}

static void test_pools_are_apart(void **state)
{
	take_in(*state, "BP-2", VREAD_PUBLISH_DELETE, 7, 1000, START);
	assert_false(withdrawn(*state, 7, 1000));
	take(*state, VREAD_PUBLISH_DELETE, 7, 1000);
	take_in(*state, "BP-2", VREAD_PUBLISH_FINALIZED, 7, 1000, START);
	assert_true(withdrawn(*state, 7, 1000));
}

static void test_old_ones_are_forgotten(void **state)
{
	const time_t end = START + PUBLISHED_MAX_AGE;

	take(*state, VREAD_PUBLISH_DELETE, 1, 1000);
	take(*state, VREAD_PUBLISH_DELETE, 2, 1000);
	take_in(*state, POOL, VREAD_PUBLISH_DELETE, 1, 900, START + 1);
	assert_true(withdrawn_at(*state, 2, 1000, end - 1));
	assert_false(withdrawn_at(*state, 2, 1000, end));
	assert_true(withdrawn_at(*state, 1, 1000, end)); /* its last event is newer */
	assert_false(withdrawn_at(*state, 1, 1000, end + 1));
	assert_int_equal(count(*state, "withdrawn", end), 1);
	assert_int_equal(count(*state, "withdrawn", end + 1), 0);
	assert_int_equal(count(*state, "delete", end), 3);
}

/* Each event removes more expired withdrawals than it adds. */
static void test_events_clear_away_the_old(void **state)
{
	for (int64_t id = 0; id < 100; id++)
		take(*state, VREAD_PUBLISH_DELETE, id, 1);
	for (int64_t id = 1000; id < 1050; id++)
		take_in(*state, POOL, VREAD_PUBLISH_DELETE, id, 1, START + PUBLISHED_MAX_AGE);
	assert_int_equal(count(*state, "withdrawn", START), 50);
}

static void test_the_oldest_make_room(void **state)
{
	for (int64_t id = 0; id < PUBLISHED_MAX; id++)
		take(*state, VREAD_PUBLISH_DELETE, id, 1);
	take(*state, VREAD_PUBLISH_APPEND, 0, 1); /* renewed */
	assert_int_equal(count(*state, "withdrawn", START), PUBLISHED_MAX);
	take(*state, VREAD_PUBLISH_DELETE, -1, 1);
	assert_int_equal(count(*state, "withdrawn", START), PUBLISHED_MAX);
	assert_true(withdrawn(*state, 0, 1));
	assert_true(withdrawn(*state, -1, 1));
	assert_false(withdrawn(*state, 1, 1));
	assert_true(withdrawn(*state, 2, 1));
}

static atomic_bool taken;
static atomic_int taker; /* id of its thread */

static void *take_on_a_thread(void *p)
{
	atomic_store(&taker, gettid());
	take(p, VREAD_PUBLISH_APPEND, 7, 1000);
	atomic_store(&taken, true);
	return NULL;
}

/* True if the thread waits for a lock. */
static bool waits(pid_t thread)
{
	char path[64], call[8] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)thread);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(call, sizeof(call), f))
		call[0] = '\0';
	fclose(f);
	return atoi(call) == SYS_futex; /* "running" gives 0 */
}

/* A worker found the block not withdrawn and holds it while it answers. */
static void test_an_event_waits_for_answers(void **state)
{
	pthread_t thread;

	atomic_store(&taken, false);
	published_hold(*state);
	assert_false(published_withdrawn(*state, POOL, 7, 1000, START));
	assert_int_equal(pthread_create(&thread, NULL, take_on_a_thread, *state), 0);
	eventually(taker && waits(taker));
	assert_false(atomic_load(&taken));
	assert_false(published_withdrawn(*state, POOL, 7, 1000, START));
	published_release(*state);
	pthread_join(thread, NULL);
	assert_true(withdrawn(*state, 7, 1000));
}

static atomic_bool stop;
static atomic_ulong holds;

static void *hold_again_and_again(void *p)
{
	while (!atomic_load(&stop)) {
		withdrawn(p, 7, 1000);
		atomic_fetch_add(&holds, 1);
	}
	return NULL;
}

/* Readers that never pause must not keep an event waiting, or this test would not end. */
static void test_an_event_is_not_starved(void **state)
{
	pthread_t thread[4];

	atomic_store(&stop, false);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, hold_again_and_again, *state);
	while (atomic_load(&holds) < 1000)
		;
	for (uint64_t genstamp = 1; genstamp <= 200; genstamp++)
		take(*state, VREAD_PUBLISH_APPEND, 7, genstamp);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(count(*state, "append", START), 200);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_up_to_the_stamp),
		TEST(test_finalized_lifts_up_to_its_own),
		TEST(test_pools_are_apart),
		TEST(test_old_ones_are_forgotten),
		TEST(test_events_clear_away_the_old),
		TEST(test_the_oldest_make_room),
		TEST(test_an_event_waits_for_answers),
		TEST(test_an_event_is_not_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
