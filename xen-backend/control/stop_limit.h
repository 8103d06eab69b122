/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop_limit.h - bounds the time that the end of vreadd takes. Called by daemon.c.
 *
 * The end of vreadd waits for threads that may be in a read of a disk that hangs. What they use
 * cannot be freed. So after some time the process just ends: the kernel unmaps the pages of guests
 * and tells the frontends, and the parsers are killed.
 */
#ifndef VREAD_STOP_LIMIT_H
#define VREAD_STOP_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_limit {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool running, over;
	uint64_t until;
};

/* From now on the process has 10 s. If the thread that watches the time cannot be started, there is
 * no limit. */
void stop_limit_begin(struct stop_limit *l);
void stop_limit_end(struct stop_limit *l);

#endif
