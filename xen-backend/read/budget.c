// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements budget.h: one sum that never exceeds its limit. open.c, ahead.c and ahead_direct.c
 * call it.
 */
#include "read/budget.h"

/* One of so many parts of the budget. */
static size_t part(const struct budget *b, unsigned parts)
{
	size_t most = atomic_load(&b->most);

	return most ? most / parts : SIZE_MAX;
}

static bool take(struct budget *b, size_t most, size_t bytes)
{
	size_t used = atomic_load(&b->used);

	do {
		if (used > most || bytes > most - used)
			return false;
	} while (!atomic_compare_exchange_weak(&b->used, &used, used + bytes));
	return true;
}

bool budget_take(struct budget *b, size_t bytes)
{
	if (!b || take(b, part(b, 1), bytes))
		return true;
	atomic_fetch_add(&b->refused, 1);
	return false;
}

bool budget_take_spare(struct budget *b, size_t bytes)
{
	return !b || take(b, part(b, 2), bytes);
}

void budget_give(struct budget *b, size_t bytes)
{
	if (b)
		atomic_fetch_sub(&b->used, bytes);
}
