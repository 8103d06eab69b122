// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements stop_limit.h: a thread that ends the process if nobody stops it in time.
 */
#include "control/stop_limit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define LIMIT_S 10U

static void *watch(void *arg)
{
	struct stop_limit *l = arg;
	bool over;

	pthread_mutex_lock(&l->lock);
	while (!l->over && clock_wait(&l->changed, &l->lock, l->until))
		;
	over = l->over;
	pthread_mutex_unlock(&l->lock);
	if (over)
		return NULL;
	log_warn("stopping takes more than %u s, because a read of a disk image hangs: ending "
		 "without it; check the host's disks",
		 LIMIT_S);
	_exit(EXIT_SUCCESS);
}

void stop_limit_begin(struct stop_limit *l)
{
	*l = (struct stop_limit){.until = clock_ms() + 1000 * LIMIT_S};
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->running = pthread_create(&l->thread, NULL, watch, l) == 0;
}

void stop_limit_end(struct stop_limit *l)
{
	pthread_mutex_lock(&l->lock);
	l->over = true;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
}
