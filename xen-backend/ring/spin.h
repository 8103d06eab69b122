/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin.h - a worker looks at an empty ring before it sleeps (vread-spin.h). queue.c calls it.
 *
 * A worker whose client sends requests rarely does not spin at all.
 *
 * Threads: one at a time.
 */
#ifndef VREAD_RING_SPIN_H
#define VREAD_RING_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct spin {
	bool allowed; /* there are processors for others meanwhile */
	unsigned ns;  /* how long the next spin may take */
};

void spin_init(struct spin *s);
/* Looks until there(ctx), not long. False: it is not there. */
bool spin_until(const struct spin *s, bool (*there)(void *ctx), void *ctx);
/* A wait has ended, which began at the time `since` (clock_measure_ns()), before the spin. */
void spin_waited(struct spin *s, uint64_t since);

#endif
