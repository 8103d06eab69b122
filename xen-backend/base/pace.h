/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h - limits how often a guest or a user may do something: `burst` times at once, and once in
 * each_ms in the long run. port/ limits connects by it.
 *
 * The functions are pure: the caller has the time, of base/clock.h. A struct of zeros is a fresh
 * pace.
 */
#ifndef VREAD_PACE_H
#define VREAD_PACE_H

#include <stdint.h>

struct pace {
	uint64_t paid; /* ms: until this moment the party has used up its turns */
};

struct pace_limit {
	unsigned burst;
	uint64_t each_ms;
};

/* Returns 0 if the party has a turn at the time `now`, else the ms until it has one. */
uint64_t pace_wait(const struct pace *p, const struct pace_limit *l, uint64_t now);
/* Uses up a turn, also if the party has none. */
void pace_use(struct pace *p, const struct pace_limit *l, uint64_t now);

#endif
