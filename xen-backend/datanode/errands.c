// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements errands.h: a queue and its threads for each datanode.
 */
#include "datanode/errands.h"

#include <errno.h>

#include "base/background.h"
#include "base/clock.h"
#include "datanode/datanode_private.h"

void errands_init(struct errands *s)
{
	STAILQ_INIT(&s->waiting);
	pthread_cond_init(&s->wake, NULL);
}

void errands_end(struct errands *s)
{
	pthread_cond_broadcast(&s->wake);
}

void errands_destroy(struct errands *s)
{
	pthread_cond_destroy(&s->wake);
}

/* With the lock. Waits for an errand. NULL: the datanode was removed, and none is left. */
static struct errand *next_errand(struct datanode *dn)
{
	struct errands *s = &dn->errands;
	struct errand *e;

	s->idle++;
	while (STAILQ_EMPTY(&s->waiting) && !dn->removed)
		clock_wait(&s->wake, &dn->lock, CLOCK_NEVER);
	s->idle--;
	e = STAILQ_FIRST(&s->waiting);
	if (e) {
		STAILQ_REMOVE_HEAD(&s->waiting, next);
		s->num_waiting--;
	}
	return e;
}

static void run_errands(void *datanode)
{
	struct datanode *dn = datanode;
	struct registry *r = dn->registry;
	struct errand *e;

	pthread_mutex_lock(&dn->lock);
	while ((e = next_errand(dn))) {
		pthread_mutex_unlock(&dn->lock);
		e->run(e);
		pthread_mutex_lock(&dn->lock);
	}
	dn->errands.threads--;
	pthread_mutex_unlock(&dn->lock);
	datanode_put(dn);
	registry_thread_ends(r);
}

/* With the lock. */
static int start_thread(struct datanode *dn)
{
	int r;

	registry_thread_begins(dn->registry);
	r = background_start(run_errands, datanode_get(dn));
	if (r == 0) {
		dn->errands.threads++;
		return 0;
	}
	datanode_put(dn);
	registry_thread_ends(dn->registry);
	return r;
}

/* With the lock. Makes sure that somebody will run another errand. */
static int find_thread(struct datanode *dn)
{
	const struct errands *s = &dn->errands;
	int r;

	if (dn->removed)
		return -ENODEV;
	if (s->num_waiting == ERRANDS_MAX)
		return -EBUSY;
	if (s->idle > s->num_waiting || s->threads == ERRAND_THREADS)
		return 0;
	r = start_thread(dn);
	return s->threads ? 0 : r;
}

int datanode_run(struct datanode *dn, struct errand *e)
{
	struct errands *s = &dn->errands;
	int r;

	pthread_mutex_lock(&dn->lock);
	r = find_thread(dn);
	if (r == 0) {
		STAILQ_INSERT_TAIL(&s->waiting, e, next);
		s->num_waiting++;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&dn->lock);
	return r;
}
