// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements looker.h: when a datanode is looked into.
 */
#include "datanode/looker.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/waiting.h"
#include "datanode/clones.h"
#include "datanode/refresh.h"
#include "datanode/usage.h"

#define WANTED_INTERVAL_MS 1000U
#define MISSING_INTERVAL_MS 10000U
#define SLOW_INTERVAL_MS 60000U
/* A guest can make its image slow to look into. So after a look the datanode rests as long as the
 * look took, and DUTY times the CPU time that the look used, or WANTED_DUTY times if another look
 * is wanted. CPU time counts instead of time: on a busy host a look takes long and costs little.
 * The looker's priority is the normal one: the parser inherits it, and readers wait for that. */
#define DUTY 20U
#define WANTED_DUTY 4U
#define FIRST_LOOK_MS 3000U

enum work { WORK_END, WORK_USAGE, WORK_SETTLE, WORK_COMPARE, WORK_LOOK };

/* With the lock. Returns when the next look is due. */
static uint64_t due(struct datanode *dn)
{
	bool wanted = atomic_load(&dn->wanted);
	uint64_t interval =
		dn->served && dn->served->missing ? MISSING_INTERVAL_MS : SLOW_INTERVAL_MS;
	uint64_t rest = dn->cpu * (wanted ? WANTED_DUTY : DUTY);

	if (refresh_is_new(dn))
		return 0;
	if (wanted)
		interval = WANTED_INTERVAL_MS;
	if (rest < dn->took)
		rest = dn->took;
	if (interval < rest)
		interval = rest;
	return atomic_load(&dn->looked) + interval;
}

/* Returns when the datanode is to be compared with others. */
static uint64_t comparison_due(struct datanode *dn)
{
	return atomic_load(&dn->compare) ? dn->compare_after : CLOCK_NEVER;
}

/* With the lock. Returns what is to be done now; WORK_LOOK only if a look is due. */
static enum work work_now(struct datanode *dn, bool is_due)
{
	if (dn->removed)
		return WORK_END;
	if (dn->usage_changed) {
		dn->usage_changed = false;
		return WORK_USAGE;
	}
	if (!is_due && atomic_exchange(&dn->registry->settle, false))
		return WORK_SETTLE;
	return !is_due && comparison_due(dn) <= clock_ms() ? WORK_COMPARE : WORK_LOOK;
}

/* Sleeps until there is something to do. */
static enum work next_work(struct datanode *dn)
{
	enum work work;
	uint64_t when, comparison;

	pthread_mutex_lock(&dn->lock);
	for (;;) {
		when = due(dn);
		work = work_now(dn, when <= clock_ms());
		if (work != WORK_LOOK || when <= clock_ms())
			break;
		comparison = comparison_due(dn);
		clock_wait(&dn->wake, &dn->lock, when < comparison ? when : comparison);
	}
	pthread_mutex_unlock(&dn->lock);
	return work;
}

static void say_if_all_were_looked_into(struct registry *s)
{
	bool all;

	pthread_mutex_lock(&s->lock);
	all = s->unseen && --s->unseen == 0;
	pthread_mutex_unlock(&s->lock);
	if (all)
		log_info("every datanode was looked into");
}

/* Lets those go on who wait for the first look. */
static void note_first_look(struct datanode *dn)
{
	bool first;

	pthread_mutex_lock(&dn->lock);
	first = !dn->seen;
	dn->seen = true;
	pthread_cond_broadcast(&dn->first_look);
	pthread_mutex_unlock(&dn->lock);
	if (first)
		say_if_all_were_looked_into(dn->registry);
}

/* A comparison rests as a look does: other datanodes can ask for one. */
static void compare(struct datanode *dn)
{
	uint64_t start = clock_ms();

	atomic_store(&dn->compare, false);
	clones_compare(dn);
	dn->compare_after = clock_ms() + (clock_ms() - start) * DUTY;
}

static void do_work(struct datanode *dn, enum work work)
{
	bool looks = work == WORK_LOOK || (work == WORK_USAGE && usage_update(dn));

	if (looks)
		refresh_look(dn);
	if (work != WORK_COMPARE)
		refresh_settle(dn->registry);
	if (looks) {
		note_first_look(dn);
		atomic_store(&dn->compare, true);
	}
	if (work == WORK_COMPARE)
		compare(dn);
}

static void look_on(void *datanode)
{
	struct datanode *dn = datanode;
	struct registry *s = dn->registry;
	enum work work;

	while ((work = next_work(dn)) != WORK_END)
		do_work(dn, work);
	registry_announced(dn); /* nobody is to wait for a look that will not come */
	note_first_look(dn);
	clones_forget(dn);
	datanode_put(dn);
	registry_thread_ends(s);
}

int looker_start(struct datanode *dn)
{
	struct registry *s = dn->registry;
	int r;

	registry_thread_begins(s);
	pthread_mutex_lock(&s->lock);
	s->unseen++;
	s->unannounced++;
	pthread_mutex_unlock(&s->lock);
	dn->unannounced = true;
	pthread_mutex_lock(&dn->lock);
	dn->added = clock_ms();
	pthread_mutex_unlock(&dn->lock);
	r = background_start(look_on, datanode_get(dn));
	if (!r)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->unseen--;
	s->unannounced--;
	pthread_mutex_unlock(&s->lock);
	datanode_put(dn);
	registry_thread_ends(s);
	return r;
}

void looker_wake(struct datanode *dn)
{
	pthread_mutex_lock(&dn->lock);
	pthread_cond_signal(&dn->wake);
	pthread_mutex_unlock(&dn->lock);
}

void lookers_settle(struct registry *s)
{
	struct roster *all = registry_roster(s);

	atomic_store(&s->settle, true);
	for (unsigned i = 0; i < all->count; i++)
		looker_wake(all->datanode[i]);
	roster_put(all);
}

void lookers_usage(struct registry *s)
{
	struct roster *all = registry_roster(s);

	for (unsigned i = 0; i < all->count; i++) {
		struct datanode *dn = all->datanode[i];

		pthread_mutex_lock(&dn->lock);
		dn->usage_changed = true;
		pthread_cond_signal(&dn->wake);
		pthread_mutex_unlock(&dn->lock);
	}
	roster_put(all);
}

void datanode_look_soon(struct datanode *dn)
{
	/* A layout file says nothing new while everything in it is served. */
	if (dn->layout_path && datanode_is_complete(dn))
		return;
	if (!atomic_exchange(&dn->wanted, true))
		looker_wake(dn);
}

bool datanode_await_first_look(struct datanode *dn)
{
	bool waited;

	pthread_mutex_lock(&dn->lock);
	waited = !dn->seen && dn->added;
	if (waited && clock_ms() < dn->added + FIRST_LOOK_MS)
		waiting_announce();
	while (waited && !dn->seen &&
	       clock_wait(&dn->first_look, &dn->lock, dn->added + FIRST_LOOK_MS))
		;
	waited &= dn->seen;
	pthread_mutex_unlock(&dn->lock);
	return waited;
}
