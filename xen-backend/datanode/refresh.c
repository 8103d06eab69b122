// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that looks into images again. registry.c calls it; refresh.h describes the
 * functions.
 */
#include "datanode/refresh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "datanode/claims.h"
#include "datanode/load.h"
#include "datanode/owners.h"
#include "datanode/usage.h"

#define WANTED_INTERVAL_MS 1000U
#define MISSING_INTERVAL_MS 10000U
#define SLOW_INTERVAL_MS 60000U
/* After a look, the datanode rests for DUTY times as long as the look took, or WANTED_DUTY times
 * if another look is wanted. A guest can make its image slow to look into. */
#define DUTY 20U
#define WANTED_DUTY 4U
#define NICE 10

struct refresher {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest; held so that no wake-up is lost */
	pthread_cond_t wake;
	bool stop;
	bool usage;  /* the usage of images is to be asked for again */
	bool settle; /* whose storages are, or the roster, has changed */
};

/* ---- one look ------------------------------------------------------------- */

/* A storage that belongs to another datanode was found, too. */
static size_t num_found(const struct served *v)
{
	size_t n = json_array_size(v->refused);

	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		n += v->layout->filesystems[i].num_data_dirs;
	return n;
}

/* A look may happen just while the owner changes what is looked at. So the loss of something is
 * believed only when two looks in a row have seen it. */
static bool is_doubtful(struct datanode *dn, const struct served *old, const struct served *new)
{
	dn->doubted = !dn->doubted && num_found(new) < num_found(old);
	return dn->doubted;
}

static void log_change(const struct served *v)
{
	char place[LAYOUT_MAX_PLACE];

	for (unsigned i = 0; i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		layout_place(lfs, place);
		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			log_datanode(LOG_LEVEL_INFO, v->datanode->name,
				     "serving %s, %s, %s: storage %s, %u pools",
				     v->datanode->images[lfs->image], place, lfs->data_dirs[k].path,
				     lfs->data_dirs[k].storage_id, lfs->data_dirs[k].num_pools);
	}
	if (v->missing)
		log_event(LOG_EVENT_DATANODE_MISSING, LOG_LEVEL_WARN, v->datanode->name,
			  "not served yet: %s", v->missing);
	claims_log(v);
}

static struct served *load(struct datanode *dn)
{
	struct served *v = (dn->layout_path ? load_by_layout_again : load_by_data_dirs)(dn);

	if (!v)
		log_datanode(LOG_LEVEL_WARN, dn->name,
			     "cannot look into its images: out of memory");
	else
		claims_judge(v);
	return v;
}

static void look(struct datanode *dn)
{
	struct served *new = load(dn);
	struct served *old;

	if (!new)
		return;
	old = datanode_served(dn);
	if (!old) {
		log_change(new);
		datanode_serve(dn, new);
		return;
	}
	if (served_equal(old, new)) {
		dn->doubted = false;
		served_put(new);
	} else if (is_doubtful(dn, old, new)) {
		atomic_store(&dn->wanted, true);
		served_put(new);
	} else {
		log_change(new);
		datanode_serve(dn, new);
	}
	served_put(old);
}

int refresh_first(struct datanode *dn, char **ret_error)
{
	uint64_t start = clock_ms();
	int r = load_by_layout(dn, &dn->served, ret_error);

	dn->looked = clock_ms();
	dn->took = dn->looked - start;
	if (r)
		return r;
	claims_judge(dn->served);
	if (dn->served->missing)
		log_event(LOG_EVENT_DATANODE_MISSING, LOG_LEVEL_WARN, dn->name,
			  "not served yet: %s", dn->served->missing);
	claims_log(dn->served);
	return 0;
}

void refresh_look(struct datanode *dn)
{
	uint64_t start = clock_ms();

	atomic_store(&dn->wanted, false);
	atomic_store(&dn->anew, false);
	look(dn);
	dn->looked = clock_ms();
	dn->took = dn->looked - start;
	log_datanode(LOG_LEVEL_DEBUG, dn->name, "looked into %s%s in %" PRIu64 " ms", dn->images[0],
		     dn->num_images > 1 ? " and others" : "", dn->took);
}

/* ---- the thread, which alone serves something new from now on ------------------ */

/* True if nobody has looked into the datanode yet, or since its storages' owners changed. */
static bool is_new(struct datanode *dn)
{
	return !dn->looked || atomic_load(&dn->anew);
}

static uint64_t due(struct datanode *dn)
{
	bool wanted = atomic_load(&dn->wanted);
	struct served *v = datanode_served(dn);
	uint64_t interval = v && v->missing ? MISSING_INTERVAL_MS : SLOW_INTERVAL_MS;
	uint64_t rest = dn->took * (wanted ? WANTED_DUTY : DUTY);

	served_put(v);
	if (is_new(dn))
		return 0;
	if (wanted)
		interval = WANTED_INTERVAL_MS;
	if (interval < rest)
		interval = rest;
	return dn->looked + interval;
}

/* Returns a reference to the datanode whose look is due first, and sets when. NULL if there are
 * no datanodes. */
static struct datanode *first_due(struct registry *s, uint64_t *ret_when)
{
	struct roster *all = registry_roster(s);
	struct datanode *first = NULL;

	*ret_when = clock_ms() + SLOW_INTERVAL_MS;
	for (unsigned i = 0; i < all->count; i++) {
		uint64_t when = due(all->datanode[i]);

		if (!first || when < *ret_when) {
			first = all->datanode[i];
			*ret_when = when;
		}
	}
	if (first)
		datanode_get(first);
	roster_put(all);
	return first;
}

/* Sleeps until that time, or until wake(), refresh_usage() or refresher_stop(). */
static void sleep_until(struct refresher *r, uint64_t ms)
{
	clock_wait(&r->wake, &r->lock, ms);
}

/* Looks again into datanodes with an image whose mode has changed, which opens it anew. */
static void look_at_usage(struct registry *s)
{
	struct roster *all = registry_roster(s);

	for (unsigned i = 0; i < all->count; i++)
		if (usage_update(all->datanode[i]))
			refresh_look(all->datanode[i]);
	roster_put(all);
}

static bool any_new(struct registry *s)
{
	struct roster *all = registry_roster(s);
	bool any = false;

	for (unsigned i = 0; i < all->count; i++)
		any |= is_new(all->datanode[i]);
	roster_put(all);
	return any;
}

void refresh_settle(struct registry *s)
{
	registry_drop_lost(s);
	if (!atomic_load(&s->changing) && !any_new(s))
		owners_settle(s->owners);
	owners_save(s->owners);
}

static void *run(void *arg)
{
	struct registry *s = arg;
	struct refresher *r = s->refresher;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		uint64_t when;
		struct datanode *dn = first_due(s, &when);
		bool usage = r->usage, settle = r->settle, is_due = dn && when <= clock_ms();

		if (!usage && !settle && !is_due) {
			datanode_put(dn);
			sleep_until(r, when);
			continue;
		}
		r->usage = r->settle = false;
		pthread_mutex_unlock(&r->lock);
		if (usage)
			look_at_usage(s);
		else if (is_due)
			refresh_look(dn);
		refresh_settle(s);
		datanode_put(dn);
		pthread_mutex_lock(&r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void wake(struct refresher *r)
{
	pthread_mutex_lock(&r->lock);
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

void datanode_look_soon(struct datanode *dn)
{
	struct refresher *r = dn->registry->refresher;

	/* A layout file says nothing new while everything in it is served. */
	if (dn->layout_path && datanode_is_complete(dn))
		return;
	if (!atomic_exchange(&dn->wanted, true) && r)
		wake(r);
}

void refresh_new(struct registry *s)
{
	struct refresher *r = s->refresher;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->settle = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

void refresh_usage(struct registry *s)
{
	struct refresher *r = s->refresher;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->usage = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

static struct refresher *refresher_new(void)
{
	struct refresher *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wake, NULL);
	return r;
}

static void refresher_free(struct registry *s)
{
	pthread_cond_destroy(&s->refresher->wake);
	pthread_mutex_destroy(&s->refresher->lock);
	free(s->refresher);
	s->refresher = NULL;
}

int refresher_start(struct registry *s)
{
	int r;

	s->refresher = refresher_new();
	if (!s->refresher)
		return -ENOMEM;
	r = pthread_create(&s->refresher->thread, NULL, run, s);
	if (r)
		refresher_free(s);
	return -r;
}

void refresher_stop(struct registry *s)
{
	struct refresher *r = s->refresher;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	refresher_free(s);
}
