// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements pace.h. Each turn costs each_ms. The party may be ahead of the time by burst - 1
 * turns. port/xen/device.c and port/local/ call it.
 */
#include "base/pace.h"

uint64_t pace_wait(const struct pace *p, const struct pace_limit *l, uint64_t now)
{
	uint64_t ahead = (l->burst - 1) * l->each_ms;

	return p->paid > now + ahead ? p->paid - (now + ahead) : 0;
}

void pace_use(struct pace *p, const struct pace_limit *l, uint64_t now)
{
	p->paid = (p->paid > now ? p->paid : now) + l->each_ms;
}
