// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements background.h: a list of the threads. A thread that has ended is joined when the next
 * one is started.
 */
#include "base/background.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"

struct background {
	struct background *next;
	pthread_t thread;
	bool ended;
	void (*run)(void *arg);
	void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and `ended` */
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static struct background *all;

static void *run(void *arg)
{
	struct background *b = arg;

	b->run(b->arg);
	pthread_mutex_lock(&lock);
	b->ended = true;
	pthread_cond_broadcast(&one_ended);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* With the lock. Joins the threads that have ended, which does not wait. */
static void reap(void)
{
	struct background **link = &all;

	while (*link) {
		struct background *b = *link;

		if (!b->ended) {
			link = &b->next;
			continue;
		}
		*link = b->next;
		pthread_join(b->thread, NULL);
		free(b);
	}
}

int background_start(void (*function)(void *arg), void *arg)
{
	struct background *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->run = function;
	b->arg = arg;
	pthread_mutex_lock(&lock);
	reap();
	r = pthread_create(&b->thread, NULL, run, b);
	if (r) {
		free(b);
	} else {
		b->next = all;
		all = b;
	}
	pthread_mutex_unlock(&lock);
	return -r;
}

void background_wait(void)
{
	pthread_mutex_lock(&lock);
	for (reap(); all; reap())
		clock_wait(&one_ended, &lock, CLOCK_NEVER);
	pthread_mutex_unlock(&lock);
}
