/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time for deadlines and pauses: see clock.h. */
#include "base/clock.h"

#include <time.h>

uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
