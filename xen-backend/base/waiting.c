// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements waiting.h: one hook per thread.  Called by disk/, read/, datanode/ and ring/hands.c.
 */
#include "base/waiting.h"

#include <stddef.h>

static _Thread_local void (*announced)(void *ctx);
static _Thread_local void *announced_ctx;

void waiting_set_hook(void (*hook)(void *ctx), void *ctx)
{
	announced = hook;
	announced_ctx = ctx;
}

bool waiting_is_heard(void)
{
	return announced != NULL;
}

void waiting_announce(void)
{
	if (announced)
		announced(announced_ctx);
}

void waiting_lock(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) == 0)
		return;
	waiting_announce();
	pthread_mutex_lock(mutex);
}
