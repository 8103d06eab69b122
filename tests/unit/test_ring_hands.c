/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the threads of a queue (ring/hands.h) with work that the test controls: the hand that has
 * the turn takes jobs from a list, and waits where the test says so.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/waiting.h"
#include "eventually.h"
#include "ring/hands.h"

#define JOBS 64U

/* A job that waits ends when the test opens its gate. */
struct job {
	bool waits, twice;
	atomic_bool begun, open, done;
	pthread_t thread; /* of the hand that carried it out */
};

static struct {
	struct hands *hands;
	pthread_t keeper;
	sem_t wake;
	atomic_bool keeper_ends, keeper_sleeps;
	atomic_uint spare;
	atomic_bool end;
	struct job job[JOBS];
	atomic_uint put; /* jobs that may be taken */
	/* Belong to the turn; no lock. */
	unsigned taken;
	atomic_uint with_turn; /* hands that believe to have the turn */
	atomic_bool two;       /* two had it at once */
} work;

static void carry_out(struct job *j)
{
	j->thread = pthread_self();
	j->begun = true;
	if (j->waits) {
		work.with_turn--;
		waiting_announce();
		if (j->twice) /* the second wait of a request changes nothing */
			waiting_announce();
		eventually(j->open);
	}
	j->done = true;
}

/* Announces nothing while there is no job: that is the wait of the hand that has the turn. */
static bool serve(void *ctx, struct hand *hand)
{
	char *memory = hand_memory(hand);

	assert_ptr_equal(ctx, &work);
	assert_true(hand_has_turn(hand));
	memory[sizeof(long) - 1] = 1;
	if (work.with_turn++)
		work.two = true;
	while (!work.end) {
		if (work.taken == work.put) {
			clock_rest_us(100);
			continue;
		}
		carry_out(&work.job[work.taken++]);
		if (!hand_has_turn(hand))
			return true;
	}
	return false;
}

static void want_hand(void *ctx)
{
	(void)ctx;
	sem_post(&work.wake);
}

static void *keep(void *arg)
{
	while (sem_wait(&work.wake) == 0 && !work.keeper_ends) {
		eventually(!work.keeper_sleeps);
		hands_add(work.hands);
	}
	return arg;
}

static void end_keeper(void)
{
	work.keeper_ends = true;
	sem_post(&work.wake);
	pthread_join(work.keeper, NULL);
}

static void start(unsigned spare)
{
	const struct hands_work w = {
		.serve = serve,
		.want_hand = want_hand,
		.ctx = &work,
		.name = "test:1",
		.memory = sizeof(long),
		.spare = &work.spare,
	};

	memset(&work, 0, sizeof(work));
	work.spare = spare;
	sem_init(&work.wake, 0, 0);
	assert_int_equal(hands_start(&work.hands, &w), 0);
	assert_int_equal(pthread_create(&work.keeper, NULL, keep, NULL), 0);
}

static void stop(unsigned spare)
{
	work.end = true;
	end_keeper();
	hands_join(work.hands);
	assert_false(work.two);
	assert_int_equal(work.spare, spare);
}

static struct job *put(bool waits)
{
	struct job *j = &work.job[work.put];

	j->waits = waits;
	work.put++;
	return j;
}

static void open_gate(struct job *j)
{
	j->open = true;
	eventually(j->done);
}

static void test_who_never_waits_stays_alone(void **state)
{
	(void)state;
	start(8);
	for (unsigned i = 0; i < JOBS; i++)
		put(false);
	for (unsigned i = 0; i < JOBS; i++) {
		eventually(work.job[i].done);
		assert_true(pthread_equal(work.job[i].thread, work.job[0].thread));
	}
	assert_int_equal(work.spare, 8);
	stop(8);
}

static void test_another_goes_on(void **state)
{
	struct job *slow, *next;

	(void)state;
	start(8);
	slow = put(true);
	slow->twice = true;
	eventually(slow->begun);
	for (unsigned i = 0; i < 5; i++) {
		next = put(false);
		eventually(next->done);
	}
	assert_false(slow->done);
	assert_false(pthread_equal(slow->thread, next->thread));
	assert_int_equal(work.spare, 7);
	open_gate(slow);
	/* Both hands are there for the next wait: no third is needed. */
	slow = put(true);
	eventually(slow->begun);
	next = put(false);
	eventually(next->done);
	open_gate(slow);
	stop(8);
}

/* The hand that gives its turn away may hold locks: it starts no thread itself. */
static void test_the_keeper_adds_hands(void **state)
{
	struct job *slow, *next;

	(void)state;
	start(8);
	work.keeper_sleeps = true;
	slow = put(true);
	next = put(false);
	eventually(slow->begun);
	eventually(work.with_turn == 0);
	assert_int_equal(work.spare, 8);
	assert_false(next->begun);
	work.keeper_sleeps = false;
	eventually(next->done);
	assert_int_equal(work.spare, 7);
	open_gate(slow);
	stop(8);
}

static void test_all_wait(void **state)
{
	struct job *slow[HANDS_MOST], *next;

	(void)state;
	start(8);
	for (unsigned i = 0; i < HANDS_MOST; i++) {
		slow[i] = put(true);
		eventually(slow[i]->begun);
	}
	next = put(false);
	assert_int_equal(work.spare, 8 - (HANDS_MOST - 1));
	assert_int_equal(work.with_turn, 0);
	assert_false(next->begun);
	open_gate(slow[2]);
	eventually(next->done);
	assert_true(pthread_equal(next->thread, slow[2]->thread));
	for (unsigned i = 0; i < HANDS_MOST; i++)
		open_gate(slow[i]);
	stop(8);
}

/* The queue works as with one thread, and each hand that comes back goes on. */
static void test_no_hand_to_spare(void **state)
{
	struct job *slow, *next;

	(void)state;
	start(0);
	slow = put(true);
	next = put(false);
	eventually(slow->begun);
	assert_false(next->begun);
	open_gate(slow);
	eventually(next->done);
	assert_true(pthread_equal(next->thread, slow->thread));
	stop(0);
}

static void *join_hands(void *joined)
{
	hands_join(work.hands);
	*(atomic_bool *)joined = true;
	return NULL;
}

/* The end waits for the hand that hangs, and only for that one. */
static void test_end_while_one_waits(void **state)
{
	struct job *slow, *next;
	atomic_bool joined = false;
	pthread_t joiner;

	(void)state;
	start(8);
	slow = put(true);
	eventually(slow->begun);
	next = put(false);
	eventually(next->done);
	work.end = true;
	end_keeper();
	pthread_create(&joiner, NULL, join_hands, &joined);
	assert_false(joined);
	slow->open = true;
	pthread_join(joiner, NULL);
	assert_true(slow->done);
	assert_int_equal(work.spare, 8);
	assert_false(work.two);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void announce_and_release(void *count)
{
	++*(unsigned *)count;
	pthread_mutex_unlock(&lock);
}

/* A lock that is free is no wait, a lock that somebody holds is one. */
static void test_locks(void **state)
{
	unsigned count = 0;

	(void)state;
	waiting_announce(); /* no hook: nothing happens */
	assert_false(waiting_is_heard());
	waiting_set_hook(announce_and_release, &count);
	assert_true(waiting_is_heard());
	waiting_lock(&lock);
	assert_int_equal(count, 0);
	waiting_lock(&lock); /* held: the hook releases it */
	assert_int_equal(count, 1);
	pthread_mutex_unlock(&lock);
	waiting_set_hook(NULL, NULL);
}

static void nothing(int sig)
{
	(void)sig;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_never_waits_stays_alone),
		cmocka_unit_test(test_another_goes_on),
		cmocka_unit_test(test_the_keeper_adds_hands),
		cmocka_unit_test(test_all_wait),
		cmocka_unit_test(test_no_hand_to_spare),
		cmocka_unit_test(test_end_while_one_waits),
		cmocka_unit_test(test_locks),
	};
	struct sigaction action = {.sa_handler = nothing};

	sigaction(SIGURG, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
