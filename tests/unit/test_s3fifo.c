// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests read/s3fifo.h on synthetic traces: how many accesses find their entry, compared with LRU,
 * and that what is kept of dropped entries is bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "read/s3fifo.h"

#define WEIGHT 10U
#define ROOM 100U /* entries in a full cache */
#define KEYS 20000U

/* A cache of ROOM entries. */
struct cache {
	struct s3fifo q;
	struct s3fifo_entry *entry[KEYS]; /* NULL: not in the cache */
	unsigned count, hits, again;
};

static struct cache cache;

/* Keys of the cache are hashes, the numbers of a trace are not. */
static uint64_t hash(unsigned n)
{
	return (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static unsigned number_of(const struct s3fifo_entry *e)
{
	for (unsigned n = 0; n < KEYS; n++)
		if (cache.entry[n] == e)
			return n;
	fail_msg("evicted what was not in the cache");
	return 0;
}

static void evict(void)
{
	struct s3fifo_entry *e = s3fifo_evict(&cache.q);

	assert_non_null(e);
	cache.entry[number_of(e)] = NULL;
	cache.count--;
	free(e);
}

static bool access_one(unsigned n)
{
	struct s3fifo_entry *e = cache.entry[n];

	if (e) {
		s3fifo_use(e);
		cache.hits++;
		return true;
	}
	while (cache.count >= ROOM)
		evict();
	e = calloc(1, sizeof(*e));
	assert_non_null(e);
	e->key = hash(n);
	e->weight = WEIGHT;
	cache.again += s3fifo_insert(&cache.q, e);
	cache.entry[n] = e;
	cache.count++;
	return false;
}

/* Accesses [from, to) in order; returns how many were in the cache. */
static unsigned access_all(unsigned from, unsigned to)
{
	unsigned hits = 0;

	for (unsigned n = from; n < to; n++)
		hits += access_one(n);
	return hits;
}

/* The same with LRU. */
struct lru {
	unsigned key[ROOM]; /* the newest first */
	unsigned count;
};

static bool lru_one(struct lru *l, unsigned n)
{
	unsigned at = 0;
	bool hit;

	while (at < l->count && l->key[at] != n)
		at++;
	hit = at < l->count;
	if (!hit && l->count < ROOM)
		l->count++;
	if (!hit)
		at = l->count - 1;
	memmove(l->key + 1, l->key, at * sizeof(l->key[0]));
	l->key[0] = n;
	return hit;
}

static unsigned lru_all(struct lru *l, unsigned from, unsigned to)
{
	unsigned hits = 0;

	for (unsigned n = from; n < to; n++)
		hits += lru_one(l, n);
	return hits;
}

static int set_up(void **state)
{
	(void)state;
	memset(&cache, 0, sizeof(cache));
	assert_true(s3fifo_init(&cache.q));
	s3fifo_set(&cache.q, ROOM * WEIGHT / 10, ROOM * WEIGHT);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (cache.count > 0)
		evict();
	assert_null(s3fifo_evict(&cache.q));
	assert_int_equal(cache.q.small_weight + cache.q.main_weight, 0);
	s3fifo_clear(&cache.q);
	return 0;
}

/* 60 entries are hot. Between their rounds is a scan of 150 entries, and no entry twice. */
static void a_scan_leaves_the_hot_set(void **state)
{
	struct lru lru = {{0}, 0};
	unsigned next = 1000, hits = 0, lru_hits = 0;

	(void)state;
	for (unsigned round = 0; round < 4; round++)
		access_all(0, 60), lru_all(&lru, 0, 60);
	for (unsigned round = 0; round < 50; round++, next += 150) {
		access_all(next, next + 150), lru_all(&lru, next, next + 150);
		hits += access_all(0, 60);
		lru_hits += lru_all(&lru, 0, 60);
	}
	assert_int_equal(lru_hits, 0);
	assert_int_equal(hits, 50 * 60);
}

/* One scan of 100 times the cache. */
static void a_long_scan_leaves_the_hot_set(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++)
		access_all(0, 60);
	access_all(1000, 1000 + 100 * ROOM);
	assert_int_equal(access_all(0, 60), 60);
}

/* A hot set that the cache has not seen gets in while a scan goes on. */
static void a_new_hot_set_gets_in(void **state)
{
	unsigned next = 1000, hits = 0;

	(void)state;
	for (unsigned round = 0; round < 4; round++)
		access_all(0, 80);
	for (unsigned round = 0; round < 30; round++, next += 20) {
		access_all(next, next + 20);
		hits = access_all(500, 560);
	}
	assert_int_equal(hits, 60);
}

/* All of it fits: nothing is ever dropped. */
static void what_fits_stays(void **state)
{
	(void)state;
	access_all(0, ROOM);
	for (unsigned round = 0; round < 5; round++)
		assert_int_equal(access_all(0, ROOM), ROOM);
	assert_int_equal(cache.again, 0);
}

/* A loop over 1.5 times the cache is all in a cache of twice the size, and none of it in LRU. */
static void kept_keys_say_what_twice_the_size_had(void **state)
{
	unsigned misses;

	(void)state;
	access_all(0, ROOM * 3 / 2);
	cache.hits = cache.again = 0;
	for (unsigned round = 0; round < 10; round++)
		access_all(0, ROOM * 3 / 2);
	misses = 10 * ROOM * 3 / 2 - cache.hits;
	assert_true(cache.hits > 0);
	assert_int_equal(cache.again, misses);
	cache.again = 0;
	access_all(1000, 1000 + 10 * ROOM);
	assert_int_equal(cache.again, 0);
}

static void kept_keys_are_bounded(void **state)
{
	size_t one;

	(void)state;
	access_all(0, ROOM + 1);
	one = ghosts_memory(&cache.q.ghosts);
	assert_int_equal(cache.q.ghosts.count, 1);
	access_all(ROOM + 1, KEYS);
	assert_int_equal(cache.q.ghosts.count, ROOM);
	assert_int_equal(cache.q.ghosts.weight, ROOM * WEIGHT);
	assert_int_equal(ghosts_memory(&cache.q.ghosts), ROOM * one);
	s3fifo_set(&cache.q, 0, ROOM * WEIGHT / 2);
	assert_int_equal(cache.q.ghosts.count, ROOM / 2);
	/* the newest are kept: those that were dropped last */
	assert_true(ghosts_take(&cache.q.ghosts, hash(KEYS - ROOM - 1)));
	assert_false(ghosts_take(&cache.q.ghosts, hash(KEYS - ROOM - 1)));
	assert_false(ghosts_take(&cache.q.ghosts, hash(KEYS - 2 * ROOM)));
}

/* Entries that were used as often as counts need many rounds, and one eviction stays short. */
static void an_eviction_moves_few_entries(void **state)
{
	struct s3fifo_entry entry[2 * S3FIFO_MOST_MOVES];
	unsigned moved = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * S3FIFO_MOST_MOVES; i++) {
		entry[i] = (struct s3fifo_entry){.key = hash(i), .weight = WEIGHT};
		s3fifo_insert(&cache.q, &entry[i]);
		for (unsigned use = 0; use < 9; use++)
			s3fifo_use(&entry[i]);
	}
	assert_ptr_equal(s3fifo_evict(&cache.q), &entry[S3FIFO_MOST_MOVES]);
	for (unsigned i = 0; i < 2 * S3FIFO_MOST_MOVES; i++)
		moved += entry[i].main;
	assert_int_equal(moved, S3FIFO_MOST_MOVES);
	for (unsigned i = 0; i < 2 * S3FIFO_MOST_MOVES; i++)
		if (i != S3FIFO_MOST_MOVES)
			s3fifo_remove(&cache.q, &entry[i]);
	assert_int_equal(cache.q.ghosts.count, 1); /* what is removed leaves no key */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_scan_leaves_the_hot_set),
		TEST(a_long_scan_leaves_the_hot_set),
		TEST(a_new_hot_set_gets_in),
		TEST(what_fits_stays),
		TEST(kept_keys_say_what_twice_the_size_had),
		TEST(kept_keys_are_bounded),
		TEST(an_eviction_moves_few_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
