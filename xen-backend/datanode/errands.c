// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements errands.h: the queues and threads of each datanode.
 */
#include "datanode/errands.h"

#include <errno.h>
#include <string.h>

#include "base/background.h"
#include "base/clock.h"
#include "datanode/datanode_private.h"

void errands_init(struct errands *s)
{
	STAILQ_INIT(&s->turns);
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

/* With the lock. Returns the first errand of the party that waits, or NULL. */
static struct errand *first_of(const struct errands *s, const char *party)
{
	struct errand *e;

	STAILQ_FOREACH(e, &s->turns, turn)
	{
		if (!strcmp(e->party, party))
			break;
	}
	return e;
}

/* With the lock. first: the first errand of e's party; NULL: none waits. */
static void put(struct errands *s, struct errand *first, struct errand *e)
{
	e->next = NULL;
	if (first) {
		first->last->next = e;
		first->last = e;
		first->count++;
	} else {
		e->last = e;
		e->count = 1;
		STAILQ_INSERT_TAIL(&s->turns, e, turn);
	}
	s->num_waiting++;
}

/* With the lock. Takes the errand of the party whose turn it is, or returns NULL. The party's next
 * turn comes after those of all others. */
static struct errand *take(struct errands *s)
{
	struct errand *e = STAILQ_FIRST(&s->turns), *next = e ? e->next : NULL;

	if (!e)
		return NULL;
	STAILQ_REMOVE_HEAD(&s->turns, turn);
	s->num_waiting--;
	if (next) {
		next->last = e->last;
		next->count = e->count - 1;
		STAILQ_INSERT_TAIL(&s->turns, next, turn);
	}
	return e;
}

/* With the lock. Waits for an errand. NULL: the datanode was removed, and none is left. */
static struct errand *next_errand(struct datanode *dn)
{
	struct errands *s = &dn->errands;

	s->idle++;
	while (STAILQ_EMPTY(&s->turns) && !dn->removed)
		clock_wait(&s->wake, &dn->lock, CLOCK_NEVER);
	s->idle--;
	return take(s);
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
	if (s->idle > s->num_waiting || s->threads == ERRAND_THREADS)
		return 0;
	r = start_thread(dn);
	return s->threads ? 0 : r;
}

int datanode_run(struct datanode *dn, struct errand *e)
{
	struct errands *s = &dn->errands;
	struct errand *first;
	int r;

	pthread_mutex_lock(&dn->lock);
	first = first_of(s, e->party);
	r = first && first->count == ERRANDS_MAX ? -EBUSY : find_thread(dn);
	if (r == 0) {
		put(s, first, e);
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&dn->lock);
	return r;
}
