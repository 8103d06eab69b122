/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_clock.h - the clock of a unit test.  Its time stands still until the test advances it.
 *
 * Call own_clock_start() before the first thread starts, own_clock_end() after the last has ended.
 */
#ifndef VREAD_TEST_OWN_CLOCK_H
#define VREAD_TEST_OWN_CLOCK_H

#include "base/clock.h"

static _Atomic uint64_t own_clock = 1000000; /* ms */

/* From now on base/clock.h reads the test's clock. */
static inline void own_clock_start(void)
{
	clock_follow(&own_clock);
}

static inline void own_clock_advance(uint64_t ms)
{
	atomic_fetch_add(&own_clock, ms);
}

/* From now on base/clock.h reads the kernel's clock again. */
static inline void own_clock_end(void)
{
	clock_follow(NULL);
}

#endif
