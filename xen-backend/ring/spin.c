// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements spin.h: looks at the ring, and learns from each wait. queue.c calls it. */
#include "ring/spin.h"

#include <unistd.h>

#include "base/clock.h"
#include "vread-spin.h"

#define LOOKS 32 /* between two looks at the clock */

void spin_init(struct spin *s)
{
	*s = (struct spin){.allowed = sysconf(_SC_NPROCESSORS_ONLN) > 1};
}

bool spin_until(const struct spin *s, bool (*there)(void *ctx), void *ctx)
{
	uint64_t end;

	if (!s->ns)
		return false;
	end = clock_measure_ns() + s->ns;
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (there(ctx))
				return true;
			vread_spin_relax();
		}
	} while (clock_measure_ns() < end);
	return false;
}

void spin_waited(struct spin *s, uint64_t since)
{
	if (s->allowed)
		s->ns = vread_spin_ns(s->ns, clock_measure_ns() - since);
}
