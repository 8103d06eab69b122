/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_clock.h - the time of a unit test: it stands still until the test sets it forward.
 *
 * Not thread-safe: own_clock_start() and own_clock_end() come before and after all threads.
 */
#ifndef VREAD_TEST_OWN_CLOCK_H
#define VREAD_TEST_OWN_CLOCK_H

#include "base/clock.h"

static _Atomic uint64_t own_clock = 1000000; /* ms */

/* What reads the time from now on gets the test's. */
static inline void own_clock_start(void)
{
	clock_follow(&own_clock);
}

static inline void own_clock_advance(uint64_t ms)
{
	atomic_fetch_add(&own_clock, ms);
}

/* The kernel's time counts again. */
static inline void own_clock_end(void)
{
	clock_follow(NULL);
}

#endif
