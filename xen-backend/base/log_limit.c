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

#define SOURCES 512U
#define LINE \
	1000U /* a line, in thousandths: a source earns LOG_LIMIT_EACH_SECOND of them each ms */

struct source {
	char name[80];
	uint64_t last;   /* ms: the last line, written or not */
	uint64_t credit; /* thousandths of lines */
	uint64_t left_out;
	bool silent;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source sources[SOURCES];
static unsigned num_sources;
static _Atomic uint64_t all_left_out;

static struct source *find(const char *name)
{
	for (unsigned i = 0; i < num_sources; i++)
		if (!strncmp(sources[i].name, name, sizeof(sources[i].name) - 1))
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

static struct source *add(const char *name, uint64_t now)
{
	struct source *s = take_place();

	*s = (struct source){.last = now, .credit = (uint64_t)LOG_LIMIT_BURST * LINE};
	strncpy(s->name, name, sizeof(s->name) - 1);
	return s;
}

static void earn(struct source *s, uint64_t now)
{
	uint64_t most = (uint64_t)LOG_LIMIT_BURST * LINE, ms = now > s->last ? now - s->last : 0;

	if (ms < most)
		s->credit += ms * LOG_LIMIT_EACH_SECOND;
	if (ms >= most || s->credit > most)
		s->credit = most;
	s->last = now;
}

static bool pass(struct source *s, uint64_t *ret_left_out)
{
	if (s->silent && s->credit >= LOG_LIMIT_EACH_SECOND * LINE)
		s->silent = false;
	if (s->silent || s->credit < LINE) {
		s->silent = true;
		s->left_out++;
		atomic_fetch_add(&all_left_out, 1);
		return false;
	}
	s->credit -= LINE;
	*ret_left_out = s->left_out;
	s->left_out = 0;
	return true;
}

bool log_limit_pass(const char *name, uint64_t *ret_left_out)
{
	uint64_t now = clock_ms();
	struct source *s;
	bool passed;

	*ret_left_out = 0;
	pthread_mutex_lock(&lock);
	s = find(name);
	if (!s)
		s = add(name, now);
	earn(s, now);
	passed = pass(s, ret_left_out);
	pthread_mutex_unlock(&lock);
	return passed;
}

uint64_t log_limit_left_out(void)
{
	return atomic_load(&all_left_out);
}
