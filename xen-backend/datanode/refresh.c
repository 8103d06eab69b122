// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One look into a datanode's images, and what follows from it. looker.c and registry.c call it;
 * refresh.h describes the functions.
 */
#include "datanode/refresh.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "datanode/claims.h"
#include "datanode/load.h"
#include "datanode/owners.h"
#include "datanode/usage.h"

#define RIVALS_MS 10000U

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

/* Notes what this host lacked for a look, for the status. text NULL: nothing. A shortage may last,
 * and each look may lack something else, so only its beginning and its end are logged. */
static void note_shortage(struct datanode *dn, const char *text)
{
	bool lacked = dn->shortage[0]; /* only this thread changes it */

	pthread_mutex_lock(&dn->lock);
	snprintf(dn->shortage, sizeof(dn->shortage), "%s", text ? text : "");
	pthread_mutex_unlock(&dn->lock);
	if (text && !lacked)
		log_datanode(LOG_LEVEL_WARN, dn->name,
			     "cannot look into its images, serving what was found before: %s",
			     text);
	if (!text && lacked)
		log_datanode(LOG_LEVEL_INFO, dn->name, "its images can be looked into again");
}

/* True if this host lacked something for the look, so that nothing is known about the images. */
static bool is_no_look(const struct served *old, const struct served *new)
{
	return new->unknown &&num_found(old);
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

/* Looks, and notes what the look cost. */
static struct served *load(struct datanode *dn)
{
	uint64_t start = clock_ms();
	struct served *v;

	dn->cpu = 0;
	v = (dn->layout_path ? load_by_layout_again : load_by_data_dirs)(dn);
	dn->took = clock_ms() - start;
	return v;
}

/* Serves what was found, as far as it belongs to the datanode. Takes over `new`. */
static void serve(struct datanode *dn, struct served *new)
{
	struct served *old = datanode_served(dn);

	claims_judge(new);
	if (!old) {
		log_change(new);
		datanode_serve(dn, new);
		return;
	}
	note_shortage(dn, is_no_look(old, new) ? new->missing : NULL);
	if (served_equal(old, new)) {
		dn->doubted = false;
		served_put(new);
	} else if (is_no_look(old, new) || is_doubtful(dn, old, new)) {
		atomic_store(&dn->wanted, true);
		served_put(new);
	} else {
		log_change(new);
		datanode_serve(dn, new);
	}
	served_put(old);
}

static bool is_removed(struct datanode *dn)
{
	bool removed;

	pthread_mutex_lock(&dn->lock);
	removed = dn->removed;
	pthread_mutex_unlock(&dn->lock);
	return removed;
}

/*
 * Before a datanode serves a storage that nobody has shown before, the others that are looked into
 * for the first time have said what they show, if they do so in time.
 */
static void await_rivals(struct datanode *dn, const struct served *found)
{
	struct registry *s = dn->registry;
	bool unsure = found && claims_announce(found);
	uint64_t until = clock_ms() + RIVALS_MS;

	registry_announced(dn);
	pthread_mutex_lock(&s->lock);
	while (unsure && (s->unannounced || atomic_load(&s->changing)) && !is_removed(dn) &&
	       clock_wait(&s->announced, &s->lock, until))
		;
	pthread_mutex_unlock(&s->lock);
}

static void look(struct datanode *dn)
{
	struct served *found = load(dn);

	if (dn->unannounced)
		await_rivals(dn, found);
	if (!found) {
		note_shortage(dn, "out of memory");
		atomic_store(&dn->wanted, true);
		return;
	}
	pthread_mutex_lock(&dn->registry->judging);
	serve(dn, found);
	pthread_mutex_unlock(&dn->registry->judging);
}

int refresh_first(struct datanode *dn, char **ret_error)
{
	uint64_t start = clock_ms();
	int r = load_by_layout(dn, &dn->served, ret_error);

	dn->took = clock_ms() - start;
	atomic_store(&dn->looked, clock_ms());
	if (r)
		return r;
	claims_judge(dn->served);
	if (dn->served->missing)
		log_event(LOG_EVENT_DATANODE_MISSING, LOG_LEVEL_WARN, dn->name,
			  "not served yet: %s", dn->served->missing);
	claims_log(dn->served);
	return 0;
}

bool refresh_is_new(struct datanode *dn)
{
	return !atomic_load(&dn->looked) || atomic_load(&dn->anew);
}

void refresh_look(struct datanode *dn)
{
	atomic_store(&dn->wanted, false);
	atomic_store(&dn->anew, false);
	look(dn);
	atomic_store(&dn->looked, clock_ms());
	log_datanode(LOG_LEVEL_DEBUG, dn->name,
		     "looked into %s%s in %" PRIu64 " ms, with %" PRIu64 " ms of CPU time",
		     dn->images[0], dn->num_images > 1 ? " and others" : "", dn->took, dn->cpu);
}

static bool any_new(struct registry *s)
{
	struct roster *all = registry_roster(s);
	bool any = false;

	for (unsigned i = 0; i < all->count; i++)
		any |= refresh_is_new(all->datanode[i]);
	roster_put(all);
	return any;
}

void refresh_settle(struct registry *s)
{
	pthread_mutex_lock(&s->judging);
	registry_drop_lost(s);
	if (!atomic_load(&s->changing) && !any_new(s))
		owners_settle(s->owners, OWNERS_DATANODES);
	pthread_mutex_unlock(&s->judging);
	pthread_mutex_lock(&s->saving);
	owners_save(s->owners);
	pthread_mutex_unlock(&s->saving);
}
