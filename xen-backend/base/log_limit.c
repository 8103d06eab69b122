// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements log_limit.h: a table of sources, each with the lines that it may still write. log.c
 * calls it.
 *
 * The table has room for more sources than a host has datanodes, peers and guests that go wrong at
 * a time. If it is full, the source that was silent for the longest time gives its place up.
 */
#include "base/log_limit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/pace.h"

#define SOURCES 512U

/* Of a kind of sources. A source that was silent speaks again once it has `again` lines. */
struct limit {
	struct pace_limit pace;
	unsigned again;
};

static const struct limit configured = {{LOG_LIMIT_BURST, 1000 / LOG_LIMIT_EACH_SECOND},
					LOG_LIMIT_EACH_SECOND};
static const struct limit strangers = {{LOG_LIMIT_STRANGER, 60000}, 1};

struct source {
	char name[80];
	const struct limit *limit;
	uint64_t last; /* ms: the last line, written or not */
	struct pace pace;
	uint64_t left_out;
	bool silent;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source sources[SOURCES];
static unsigned num_sources;
static _Atomic uint64_t all_left_out;

static struct source *find(const char *name, const struct limit *limit)
{
	for (unsigned i = 0; i < num_sources; i++)
		if (sources[i].limit == limit &&
		    !strncmp(sources[i].name, name, sizeof(sources[i].name) - 1))
			return &sources[i];
	return NULL;
}

static struct source *take_place(void)
{
	struct source *oldest = &sources[0];

	if (num_sources < SOURCES)
		return &sources[num_sources++];
	for (unsigned i = 1; i < SOURCES; i++)
		if (sources[i].last < oldest->last)
			oldest = &sources[i];
	return oldest;
}

static struct source *add(const char *name, const struct limit *limit)
{
	struct source *s = take_place();

	*s = (struct source){.limit = limit};
	strncpy(s->name, name, sizeof(s->name) - 1);
	return s;
}

/* Lines that the source may write now. */
static uint64_t has(const struct source *s, const struct pace_limit *l, uint64_t now)
{
	uint64_t ahead = s->pace.paid > now ? s->pace.paid - now : 0;
	uint64_t used = (ahead + l->each_ms - 1) / l->each_ms;

	return used < l->burst ? l->burst - used : 0;
}

static bool pass(struct source *s, uint64_t now, uint64_t *ret_left_out)
{
	const struct limit *l = s->limit;

	s->last = now;
	if (has(s, &l->pace, now) < (s->silent ? l->again : 1)) {
		s->silent = true;
		s->left_out++;
		atomic_fetch_add(&all_left_out, 1);
		return false;
	}
	pace_use(&s->pace, &l->pace, now);
	s->silent = false;
	*ret_left_out = s->left_out;
	s->left_out = 0;
	return true;
}

bool log_limit_pass(const char *name, bool stranger, uint64_t *ret_left_out)
{
	const struct limit *limit = stranger ? &strangers : &configured;
	uint64_t now = clock_ms();
	struct source *s;
	bool passed;

	*ret_left_out = 0;
	pthread_mutex_lock(&lock);
	s = find(name, limit);
	if (!s)
		s = add(name, limit);
	passed = pass(s, now, ret_left_out);
	pthread_mutex_unlock(&lock);
	return passed;
}

uint64_t log_limit_left_out(void)
{
	return atomic_load(&all_left_out);
}
