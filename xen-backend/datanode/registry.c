// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registry of datanodes and their images. control/, read/ and peer/ call it; registry.h and
 * datanode.h describe the functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datanode/claims.h"
#include "datanode/clones.h"
#include "datanode/datanode_private.h"
#include "datanode/load.h"
#include "datanode/looker.h"
#include "datanode/owners.h"
#include "datanode/refresh.h"
#include "datanode/states.h"
#include "datanode/usage.h"
#include "base/error.h"

/* ---- the roster -------------------------------------------------------------- */

static struct roster *roster_new(unsigned room)
{
	struct roster *r = calloc(1, sizeof(*r) + room * sizeof(struct datanode *));

	if (r)
		atomic_init(&r->references, 1);
	return r;
}

struct roster *registry_roster(struct registry *s)
{
	struct roster *r;

	pthread_mutex_lock(&s->lock);
	r = s->roster;
	atomic_fetch_add(&r->references, 1);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void roster_put(struct roster *r)
{
	if (!r || atomic_fetch_sub(&r->references, 1) != 1)
		return;
	for (unsigned i = 0; i < r->count; i++)
		datanode_put(r->datanode[i]);
	free(r);
}

/* Replaces the roster. Takes over `r`. */
static void set_roster(struct registry *s, struct roster *r)
{
	struct roster *old;

	pthread_mutex_lock(&s->lock);
	old = s->roster;
	s->roster = r;
	pthread_mutex_unlock(&s->lock);
	roster_put(old);
}

/* Only for the control thread. Only that thread changes the roster, so it needs no lock to read
 * it. */
static struct datanode *find_datanode(const struct registry *s, const char *name)
{
	for (unsigned i = 0; i < s->roster->count; i++)
		if (!strcmp(s->roster->datanode[i]->name, name))
			return s->roster->datanode[i];
	return NULL;
}

/* Makes a roster with `new` (NULL: nothing) in the place of `old` (NULL: at the end). Takes over
 * `new` on success. */
static int change_roster(struct registry *s, struct datanode *old, struct datanode *new)
{
	struct roster *r = roster_new(s->roster->count + 1);

	if (!r)
		return -ENOMEM;
	for (unsigned i = 0; i < s->roster->count; i++) {
		struct datanode *dn = s->roster->datanode[i];

		if (dn != old)
			r->datanode[r->count++] = datanode_get(dn);
		else if (new)
			r->datanode[r->count++] = new;
	}
	if (new && !old)
		r->datanode[r->count++] = new;
	set_roster(s, r);
	return 0;
}

/* ---- beginning and end ---------------------------------------------------------- */

struct registry *registry_new(const struct registry_listener *listener)
{
	struct registry *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->judging, NULL);
	pthread_mutex_init(&s->saving, NULL);
	pthread_mutex_init(&s->ending, NULL);
	pthread_cond_init(&s->announced, NULL);
	pthread_cond_init(&s->thread_ended, NULL);
	s->listener = *listener;
	s->roster = roster_new(0);
	s->owners = owners_new();
	s->clones = clones_new();
	s->bell = states_bell_new();
	if (!s->roster || !s->owners || !s->clones || !s->bell) {
		registry_free(s);
		return NULL;
	}
	return s;
}

/* Retires `v`: from now on nothing is found through it. Takes over `v`, which may be NULL. */
static void forget_served(struct registry *s, struct served *v)
{
	if (!v)
		return;
	atomic_store(&v->retired, true);
	s->listener.retired(s->listener.ctx, v);
	served_put(v);
}

/* Has lookers that wait for the storages of other datanodes check whether they still must. */
static void stop_waiting_for_rivals(struct registry *s)
{
	pthread_mutex_lock(&s->lock);
	pthread_cond_broadcast(&s->announced);
	pthread_mutex_unlock(&s->lock);
}

/* Stops serving. The datanode and what it served are freed when nobody reads from them any more.
 * Questions about them end at once: nobody needs the answers. */
static void retire(struct datanode *dn)
{
	struct served *old;

	pthread_mutex_lock(&dn->lock);
	dn->removed = true;
	old = dn->served;
	dn->served = NULL;
	if (dn->looking)
		parser_abandon(dn->looking);
	if (old && old->parser)
		parser_abandon(old->parser);
	pthread_cond_signal(&dn->wake);
	errands_end(&dn->errands);
	pthread_mutex_unlock(&dn->lock);
	stop_waiting_for_rivals(dn->registry);
	forget_served(dn->registry, old);
}

void registry_free(struct registry *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->roster && i < s->roster->count; i++)
		retire(s->roster->datanode[i]);
	registry_await_threads(s);
	if (s->owners)
		owners_save(s->owners);
	roster_put(s->roster);
	owners_free(s->owners);
	clones_free(s->clones);
	states_bell_put(s->bell);
	pthread_cond_destroy(&s->thread_ended);
	pthread_cond_destroy(&s->announced);
	pthread_mutex_destroy(&s->ending);
	pthread_mutex_destroy(&s->saving);
	pthread_mutex_destroy(&s->judging);
	pthread_mutex_destroy(&s->lock);
	free(s->token_files);
	free(s);
}

void registry_set_tokens(struct registry *s, const char *datanode, enum tokens_mode mode)
{
	struct datanode *dn = find_datanode(s, datanode);

	if (dn)
		tokens_set_mode(dn->tokens, mode);
}

int registry_set_token_files(struct registry *s, const char *folder)
{
	free(s->token_files);
	s->token_files = strdup(folder);
	return s->token_files ? 0 : -ENOMEM;
}

int registry_start(struct registry *s)
{
	int r = 0;

	s->started = true;
	atomic_store(&s->changing, true); /* until all have lookers */
	for (unsigned i = 0; i < s->roster->count && !r; i++)
		r = looker_start(s->roster->datanode[i]);
	atomic_store(&s->changing, false);
	stop_waiting_for_rivals(s);
	return r;
}

void registry_set_usage(struct registry *s, image_usage_fn *fn, void *ctx)
{
	s->usage = fn;
	s->usage_ctx = ctx;
}

void registry_usage_changed(struct registry *s)
{
	lookers_usage(s);
}

/* ---- adding ------------------------------------------------------------------ */

static int out_of_memory(const char *datanode, char **ret_error)
{
	return error_text(ret_error, -ENOMEM, "datanode %s: out of memory", datanode);
}

static int begin_add(struct registry *s, const char *datanode, const struct registry_disks *disks,
		     struct datanode **ret, char **ret_error)
{
	*ret_error = NULL;
	if (find_datanode(s, datanode))
		return error_text(ret_error, -EEXIST, "datanode %s is named twice", datanode);
	*ret = datanode_new(s, datanode, disks, NULL);
	return *ret ? 0 : out_of_memory(datanode, ret_error);
}

/* Puts `dn` into the roster. Takes over `dn`, also on failure. */
static int end_add(struct registry *s, struct datanode *dn, char **ret_error)
{
	int r = change_roster(s, NULL, dn);

	if (r) {
		out_of_memory(dn->name, ret_error);
		retire(dn);
		datanode_put(dn);
	}
	return r;
}

int registry_add(struct registry *s, const char *datanode, const struct registry_disks *disks,
		 const char *layout_path, char **ret_error)
{
	struct datanode *dn = NULL;
	int r = begin_add(s, datanode, disks, &dn, ret_error);

	if (r < 0)
		return r;
	dn->layout_path = strdup(layout_path);
	if (dn->layout_path)
		r = refresh_first(dn, ret_error);
	else
		r = out_of_memory(datanode, ret_error);
	if (r == 0)
		return end_add(s, dn, ret_error);
	datanode_put(dn);
	return r;
}

int registry_add_data_dirs(struct registry *s, const char *datanode,
			   const struct registry_disks *disks, struct registry_texts dirs,
			   char **ret_error)
{
	struct datanode *dn = NULL;
	int r = begin_add(s, datanode, disks, &dn, ret_error);

	if (r < 0)
		return r;
	if (registry_copy_texts(dirs, &dn->data_dirs, &dn->num_data_dirs))
		refresh_look(dn);
	if (dn->served)
		return end_add(s, dn, ret_error);
	datanode_put(dn);
	return out_of_memory(datanode, ret_error);
}

/* ---- changing -------------------------------------------------------------------- */

static bool set_places(struct datanode *dn, const char *layout_path, struct registry_texts dirs)
{
	if (layout_path)
		return (dn->layout_path = strdup(layout_path));
	return registry_copy_texts(dirs, &dn->data_dirs, &dn->num_data_dirs);
}

int registry_replace(struct registry *s, const char *datanode, const struct registry_disks *disks,
		     const char *layout_path, struct registry_texts dirs, enum tokens_mode tokens)
{
	struct datanode *old = find_datanode(s, datanode);
	struct datanode *dn = datanode_new(s, datanode, disks, old);
	int r;

	if (!dn)
		return -ENOMEM;
	if (old)
		datanode_get(old);
	if (set_places(dn, layout_path, dirs))
		dn->served = load_nothing(dn, "vreadd has not looked into its images yet");
	if (dn->served)
		tokens_set_mode(dn->tokens, tokens);
	r = dn->served ? 0 : -ENOMEM;
	if (!r && s->started) /* before `old` is given up: there may be no thread */
		r = looker_start(dn);
	if (!r)
		r = change_roster(s, old, dn);
	if (r)
		retire(dn);
	else if (old)
		retire(old);
	if (r)
		datanode_put(dn);
	datanode_put(old);
	return r;
}

int registry_remove(struct registry *s, const char *datanode)
{
	struct datanode *dn = find_datanode(s, datanode);
	int r;

	if (!dn)
		return -ENOENT;
	datanode_get(dn);
	r = change_roster(s, dn, NULL);
	if (r == 0)
		retire(dn);
	datanode_put(dn);
	return r;
}

/* ---- whose storages are --------------------------------------------------------- */

int registry_keep_record(struct registry *s, const char *path)
{
	return owners_keep_in(s->owners, path);
}

static bool is_any(const struct served *v)
{
	(void)v;
	return true;
}

static bool has_refused(const struct served *v)
{
	return json_array_size(v->refused) > 0;
}

/* Has the datanodes looked into again for whose `served` which() is true. */
static void look_at_all(struct registry *s, bool (*which)(const struct served *v))
{
	struct roster *all = registry_roster(s);

	for (unsigned i = 0; i < all->count; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		if (v && which(v))
			atomic_store(&all->datanode[i]->anew, true);
		served_put(v);
	}
	roster_put(all);
}

int registry_change(struct registry *s, const struct owners_pins *all, size_t count)
{
	int r = owners_configure(s->owners, OWNERS_DATANODES, all, count);

	if (r)
		return r;
	atomic_store(&s->changing, true);
	owners_unsettle(s->owners, OWNERS_DATANODES);
	if (atomic_exchange(&s->judges, true) && owners_read_again(s->owners))
		look_at_all(s, is_any);
	return 0;
}

void registry_announced(struct datanode *dn)
{
	struct registry *s = dn->registry;

	if (!dn->unannounced)
		return;
	dn->unannounced = false;
	pthread_mutex_lock(&s->lock);
	s->unannounced--;
	pthread_cond_broadcast(&s->announced);
	pthread_mutex_unlock(&s->lock);
}

void registry_drop_lost(struct registry *s)
{
	struct roster *all = registry_roster(s);

	for (unsigned i = 0; i < all->count; i++) {
		struct datanode *dn = all->datanode[i];
		struct served *v = datanode_served(dn);

		if (v && !claims_hold(v)) {
			datanode_serve(dn, load_nothing(dn, "one of its storages is not its own, "
							    "so it is looked into again"));
			atomic_store(&dn->anew, true);
			looker_wake(dn);
		}
		served_put(v);
	}
	roster_put(all);
}

void registry_changed(struct registry *s)
{
	atomic_store(&s->changing, false);
	pthread_mutex_lock(&s->judging);
	registry_drop_lost(s);
	pthread_mutex_unlock(&s->judging);
	look_at_all(s, has_refused); /* the reason may be gone */
	stop_waiting_for_rivals(s);
	lookers_settle(s);
}

struct owners *registry_owners(struct registry *s)
{
	return s->owners;
}

void registry_peers_changed(struct registry *s)
{
	struct roster *all = registry_roster(s);

	pthread_mutex_lock(&s->judging);
	registry_drop_lost(s);
	pthread_mutex_unlock(&s->judging);
	/* A looker writes the record.  Peers' threads wait for that disk only if there is none. */
	if (all->count)
		lookers_settle(s);
	else
		refresh_settle(s);
	for (unsigned i = 0; i < all->count; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		if (v && !claims_refusals_hold(v) &&
		    !atomic_exchange(&all->datanode[i]->wanted, true))
			looker_wake(all->datanode[i]);
		served_put(v);
	}
	roster_put(all);
}

void registry_leave(struct registry *s, const char *datanode)
{
	owners_leave(s->owners, datanode);
	registry_peers_changed(s);
}

int registry_give(struct registry *s, const char *storage_id, const char *party)
{
	int r = owners_give(s->owners, storage_id, party);

	if (r == 0)
		registry_changed(s);
	return r;
}

json_t *registry_record_status(struct registry *s)
{
	return owners_status(s->owners);
}

json_t *registry_clones_status(struct registry *s)
{
	return clones_status(s->clones);
}

/* ---- what is served ------------------------------------------------------------ */

struct served *datanode_served(struct datanode *dn)
{
	struct served *v;

	pthread_mutex_lock(&dn->lock);
	v = served_get(dn->served);
	pthread_mutex_unlock(&dn->lock);
	return v;
}

bool datanode_is_complete(struct datanode *dn)
{
	struct served *v = datanode_served(dn);
	bool complete = !v || (!v->missing && !atomic_load(&v->moved));

	served_put(v);
	return complete;
}

void datanode_serve(struct datanode *dn, struct served *v)
{
	struct served *old = v;

	pthread_mutex_lock(&dn->lock);
	if (!dn->removed) {
		old = dn->served;
		dn->served = v;
	}
	pthread_mutex_unlock(&dn->lock);
	forget_served(dn->registry, old);
}

static bool has_storage(const struct served *v, const char *storage_id)
{
	for (unsigned i = 0; i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			if (!strcmp(lfs->data_dirs[k].storage_id, storage_id))
				return true;
	}
	return false;
}

static bool datanode_has_storage(struct datanode *dn, const char *storage_id)
{
	struct served *v = datanode_served(dn);
	bool found = v && has_storage(v, storage_id);

	served_put(v);
	return found;
}

int registry_find_storage(struct registry *s, const char *storage_id, registry_datanode_fn *fn,
			  void *ctx)
{
	struct roster *all = registry_roster(s);
	int found = 0, r = 0;

	for (unsigned i = 0; r == 0 && i < all->count; i++) {
		if (!datanode_has_storage(all->datanode[i], storage_id))
			continue;
		found++;
		r = fn(ctx, all->datanode[i]);
	}
	for (unsigned i = 0; !found && i < all->count; i++)
		datanode_look_soon(all->datanode[i]);
	roster_put(all);
	return r ? r : found;
}

bool registry_await_first_looks(struct registry *s)
{
	struct roster *all = registry_roster(s);
	bool any = false;

	for (unsigned i = 0; i < all->count; i++)
		any |= datanode_await_first_look(all->datanode[i]);
	roster_put(all);
	return any;
}

static int each_storage(const struct served *v, const char *datanode, registry_storage_fn *fn,
			void *ctx)
{
	int r = 0;

	for (unsigned i = 0; !r && i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		for (unsigned k = 0; !r && k < lfs->num_data_dirs; k++)
			r = fn(ctx, datanode, lfs->data_dirs[k].storage_id);
	}
	return r;
}

int registry_each_storage(struct registry *s, registry_storage_fn *fn, void *ctx)
{
	struct roster *all = registry_roster(s);
	int r = 0;

	for (unsigned i = 0; !r && i < all->count; i++) {
		struct datanode *dn = all->datanode[i];
		struct served *v = datanode_served(dn);

		if (v && v->unknown)
			r = owners_each(s->owners, dn->name, fn, ctx);
		else if (v)
			r = each_storage(v, dn->name, fn, ctx);
		served_put(v);
	}
	roster_put(all);
	return r;
}

/* ---- states of file systems ------------------------------------------------------ */

uint64_t registry_ask_states(struct registry *s)
{
	struct roster *all = registry_roster(s);

	s->states_asked++;
	for (unsigned i = 0; i < all->count; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		if (v)
			states_ask(v, s->bell, s->states_asked);
		served_put(v);
	}
	roster_put(all);
	return s->states_asked;
}

bool registry_states_known(struct registry *s, uint64_t question)
{
	struct roster *all = registry_roster(s);
	bool known = true;

	for (unsigned i = 0; i < all->count && known; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		known = !v || states_known(v, question);
		if (!known) /* v may have become what is served after the question */
			states_ask(v, s->bell, question);
		served_put(v);
	}
	roster_put(all);
	return known;
}

int registry_states_fd(const struct registry *s)
{
	return states_bell_fd(s->bell);
}
