// SPDX-License-Identifier: GPL-2.0-or-later
/* Watching while it pays; see patience.h. */
#include "ring/patience.h"

#include <time.h>
#include <unistd.h>

#define LOOKS_PER_CLOCK 32 /* reading a clock costs as much as several looks */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void patience_init(struct patience *p)
{
	*p = (struct patience){.possible = sysconf(_SC_NPROCESSORS_ONLN) > 1};
}

bool patience_watch(struct patience *p, bool (*came)(void *ctx), void *ctx)
{
	uint64_t end;

	if (!p->pays)
		return false;
	end = now_ns() + PATIENCE_MAX_NS;
	do {
		for (unsigned i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (came(ctx))
				return true;
			relax();
		}
	} while (now_ns() < end);
	p->pays = false;
	return false;
}

void patience_sleep(struct patience *p)
{
	p->slept = now_ns();
}

void patience_wake(struct patience *p)
{
	p->pays = p->possible && now_ns() - p->slept < PATIENCE_MAX_NS;
}
