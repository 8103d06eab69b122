// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the threads of a registry's datanodes, so that registry_free() can wait for their end.
 * looker.c and errands.c start such threads; datanode_private.h describes the functions.
 */
#include "base/clock.h"
#include "datanode/datanode_private.h"

void registry_thread_begins(struct registry *s)
{
	pthread_mutex_lock(&s->ending);
	s->threads++;
	pthread_mutex_unlock(&s->ending);
}

void registry_thread_ends(struct registry *s)
{
	pthread_mutex_lock(&s->ending);
	s->threads--;
	pthread_cond_broadcast(&s->thread_ended);
	pthread_mutex_unlock(&s->ending);
}

void registry_await_threads(struct registry *s)
{
	pthread_mutex_lock(&s->ending);
	while (s->threads)
		clock_wait(&s->thread_ended, &s->ending, CLOCK_NEVER);
	pthread_mutex_unlock(&s->ending);
}
