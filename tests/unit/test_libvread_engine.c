// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests libvread's engine with a transport of the test: a leader that sleeps for several of its
 * completions is woken when another thread begins to wait, once for each time.  A leader is also
 * woken when the transport has no room for the operation of another thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "engine.h"

#define WAITS 8 /* that are recorded */

/* Answers nothing before wait() was called the second time, then everything. */
struct fake {
	struct transport base;
	struct engine engine;
	pthread_t other;
	bool answering;
	bool full; /* the transport has no room */
	bool flying[TRANSPORT_MAX_OPS];
	unsigned waits, batch[WAITS];
	bool kicked[WAITS]; /* the kick was there before the wait began */
};

static struct fake *fake(struct transport *t)
{
	return (struct fake *)t; /* its first member */
}

static void start(struct transport *t, const struct op *op)
{
	fake(t)->flying[op->slot] = true;
}

static bool flush(struct transport *t)
{
	return fake(t)->full;
}

static int reap(struct transport *t, struct op_done *done, unsigned max)
{
	struct fake *f = fake(t);
	unsigned n = 0;

	for (unsigned i = 0; f->answering && i < t->max_ops && n < max; i++)
		if (f->flying[i]) {
			f->flying[i] = false;
			done[n++] = (struct op_done){.slot = i};
		}
	return (int)n;
}

static struct request *take(struct engine *e)
{
	struct request *r;

	assert_int_equal(engine_take(e, 0, &r), 0);
	r->op.kind = VREAD_OP_STAT;
	engine_start(e, r);
	return r;
}

static void *wait_for_one(void *fake)
{
	struct engine *e = &((struct fake *)fake)->engine;
	struct request *r;

	engine_lock(e);
	r = take(e);
	engine_flush(e);
	assert_int_equal(engine_wait(e, r, 1, UINT64_MAX), 0);
	engine_release(e, r);
	engine_unlock(e);
	return NULL;
}

/* True if a thread waits beside the leader. */
static bool another_waits(struct engine *e)
{
	bool waits;

	engine_lock(e);
	waits = e->waiters.next != e->waiters.prev;
	engine_unlock(e);
	return waits;
}

static bool wait_asleep(struct transport *t, int kick_fd, unsigned batch, uint64_t deadline,
			bool brief)
{
	struct fake *f = fake(t);
	struct pollfd kick = {.fd = kick_fd, .events = POLLIN};

	(void)deadline, (void)brief;
	assert_true(f->waits < WAITS);
	f->batch[f->waits] = batch;
	f->kicked[f->waits] = poll(&kick, 1, 0) > 0;
	if (f->waits++ == 0) {
		assert_int_equal(pthread_create(&f->other, NULL, wait_for_one, f), 0);
		while (!another_waits(&f->engine))
			sched_yield();
		assert_int_equal(poll(&kick, 1, 0), 1);
	} else {
		f->answering = true;
	}
	return true;
}

static void destroy(struct transport *t, bool shared)
{
	(void)t, (void)shared;
}

static bool reclaim(struct engine *e, bool needed)
{
	(void)e, (void)needed;
	return false;
}

static const struct transport_ops OPS = {
	.start = start,
	.flush = flush,
	.reap = reap,
	.wait = wait_asleep,
	.destroy = destroy,
};

static void test_a_kick_wakes_the_leader_once(void **state)
{
	struct fake f = {.base = {.ops = &OPS, .slice_bytes = 1 << 20, .max_ops = 8}};
	struct request *mine[2];

	(void)state;
	assert_int_equal(engine_init(&f.engine, &f.base, 1000000, reclaim), 0);
	engine_lock(&f.engine);
	for (unsigned i = 0; i < 2; i++)
		mine[i] = take(&f.engine);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(engine_wait(&f.engine, mine[i], 2, UINT64_MAX), 0);
	for (unsigned i = 0; i < 2; i++)
		engine_release(&f.engine, mine[i]);
	engine_unlock(&f.engine);
	assert_int_equal(pthread_join(f.other, NULL), 0);

	assert_int_equal(f.waits, 2);
	assert_int_equal(f.batch[0], 2);
	assert_int_equal(f.batch[1], 1);
	assert_false(f.kicked[0]);
	assert_false(f.kicked[1]); /* the leader took the kick */
	engine_destroy(&f.engine, false);
}

/* The other thread's operation needs room, so the leader must wait for room, too. */
static void test_a_full_transport_wakes_the_leader(void **state)
{
	struct fake f = {
		.base = {.ops = &OPS, .slice_bytes = 1 << 20, .max_ops = 8},
		.full = true,
	};
	struct request *mine;

	(void)state;
	assert_int_equal(engine_init(&f.engine, &f.base, 1000000, reclaim), 0);
	engine_lock(&f.engine);
	mine = take(&f.engine);
	assert_int_equal(engine_wait(&f.engine, mine, 1, UINT64_MAX), 0);
	engine_release(&f.engine, mine);
	engine_unlock(&f.engine);
	assert_int_equal(pthread_join(f.other, NULL), 0);
	assert_int_equal(f.waits, 2);
	engine_destroy(&f.engine, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kick_wakes_the_leader_once),
		cmocka_unit_test(test_a_full_transport_wakes_the_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
