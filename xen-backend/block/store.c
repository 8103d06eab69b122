// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registry of datanodes and their images; see store.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/internal.h"
#include "block/load.h"
#include "block/refresh.h"
#include "block/usage.h"
#include "base/error.h"
#include "disk/source_queue.h"

/* ---- the roster -------------------------------------------------------------- */

static struct roster *roster_new(unsigned room)
{
	struct roster *r = calloc(1, sizeof(*r) + room * sizeof(struct store_datanode *));

	if (r)
		atomic_init(&r->references, 1);
	return r;
}

struct roster *store_roster(struct block_store *s)
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
		store_datanode_put(r->datanode[i]);
	free(r);
}

/* Takes over r. */
static void set_roster(struct block_store *s, struct roster *r)
{
	struct roster *old;

	pthread_mutex_lock(&s->lock);
	old = s->roster;
	s->roster = r;
	pthread_mutex_unlock(&s->lock);
	roster_put(old);
}

/* Of the control thread, which alone changes it. */
static struct store_datanode *find_datanode(const struct block_store *s, const char *name)
{
	for (unsigned i = 0; i < s->roster->count; i++)
		if (!strcmp(s->roster->datanode[i]->name, name))
			return s->roster->datanode[i];
	return NULL;
}

/* With new (NULL: nothing) in the place of old (NULL: at the end).  Takes over new. */
static int change_roster(struct block_store *s, struct store_datanode *old,
			 struct store_datanode *new)
{
	struct roster *r = roster_new(s->roster->count + 1);

	if (!r)
		return -ENOMEM;
	for (unsigned i = 0; i < s->roster->count; i++) {
		struct store_datanode *dn = s->roster->datanode[i];

		if (dn != old)
			r->datanode[r->count++] = store_datanode_get(dn);
		else if (new)
			r->datanode[r->count++] = new;
	}
	if (new && !old)
		r->datanode[r->count++] = new;
	set_roster(s, r);
	return 0;
}

/* ---- beginning and end ---------------------------------------------------------- */

struct block_store *block_store_new(void)
{
	struct block_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->cache = replica_cache_new();
	s->ahead.shares = shares_new();
	s->roster = roster_new(0);
	if (!s->cache || !s->ahead.shares || !s->roster) {
		block_store_free(s);
		return NULL;
	}
	return s;
}

void block_store_set_read_ahead(struct block_store *s, size_t read_ahead)
{
	atomic_store(&s->ahead.window, read_ahead);
}

int block_store_set_cache(struct block_store *s, size_t cache)
{
	if (cache < VERIFIED_UNIT)
		return 0;
	s->ahead.cache = verified_cache_new(cache);
	return s->ahead.cache ? 0 : -ENOMEM;
}

/* Nothing more is found through v, which is taken over and may be NULL. */
static void forget_served(struct block_store *s, struct served *v)
{
	if (!v)
		return;
	atomic_store(&v->retired, true);
	replica_cache_forget(s->cache, v);
	verified_cache_forget(s->ahead.cache, v);
	served_put(v);
}

/* What it served, and it itself, go when nobody reads of it any more. */
static void retire(struct store_datanode *dn)
{
	struct served *old;

	pthread_mutex_lock(&dn->lock);
	dn->removed = true;
	old = dn->served;
	dn->served = NULL;
	pthread_mutex_unlock(&dn->lock);
	forget_served(dn->store, old);
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	refresher_stop(s);
	for (unsigned i = 0; s->roster && i < s->roster->count; i++)
		retire(s->roster->datanode[i]);
	shares_free(s->ahead.shares);
	verified_cache_free(s->ahead.cache);
	replica_cache_free(s->cache);
	roster_put(s->roster);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void block_store_set_tokens(struct block_store *s, const char *datanode, enum tokens_mode mode)
{
	struct store_datanode *dn = find_datanode(s, datanode);

	if (dn)
		tokens_set_mode(dn->tokens, mode);
}

int block_store_start(struct block_store *s)
{
	return refresher_start(s);
}

void block_store_set_usage(struct block_store *s, image_usage_fn *fn, void *ctx)
{
	s->usage = fn;
	s->usage_ctx = ctx;
}

void block_store_usage_changed(struct block_store *s)
{
	refresh_usage(s);
}

/* ---- adding ------------------------------------------------------------------ */

static int out_of_memory(const char *datanode, char **ret_error)
{
	return error_text(ret_error, -ENOMEM, "datanode %s: out of memory", datanode);
}

static int begin_add(struct block_store *s, const char *datanode, struct block_texts images,
		     struct store_datanode **ret, char **ret_error)
{
	*ret_error = NULL;
	if (find_datanode(s, datanode))
		return error_text(ret_error, -EEXIST, "datanode %s is named twice", datanode);
	*ret = store_datanode_new(s, datanode, images, NULL);
	return *ret ? 0 : out_of_memory(datanode, ret_error);
}

/* Takes over dn. */
static int end_add(struct block_store *s, struct store_datanode *dn, char **ret_error)
{
	int r = change_roster(s, NULL, dn);

	if (r) {
		out_of_memory(dn->name, ret_error);
		retire(dn);
		store_datanode_put(dn);
	}
	return r;
}

int block_store_add(struct block_store *s, const char *datanode, struct block_texts images,
		    const char *layout_path, char **ret_error)
{
	struct store_datanode *dn = NULL;
	int r = begin_add(s, datanode, images, &dn, ret_error);

	if (r < 0)
		return r;
	dn->layout_path = strdup(layout_path);
	if (dn->layout_path)
		r = refresh_first(dn, ret_error);
	else
		r = out_of_memory(datanode, ret_error);
	if (r == 0)
		return end_add(s, dn, ret_error);
	store_datanode_put(dn);
	return r;
}

int block_store_add_data_dirs(struct block_store *s, const char *datanode,
			      struct block_texts images, struct block_texts dirs, char **ret_error)
{
	struct store_datanode *dn = NULL;
	int r = begin_add(s, datanode, images, &dn, ret_error);

	if (r < 0)
		return r;
	if (store_copy_texts(dirs, &dn->data_dirs, &dn->num_data_dirs))
		refresh_look(dn);
	if (dn->served)
		return end_add(s, dn, ret_error);
	store_datanode_put(dn);
	return out_of_memory(datanode, ret_error);
}

/* ---- changing -------------------------------------------------------------------- */

static bool set_places(struct store_datanode *dn, const char *layout_path, struct block_texts dirs)
{
	if (layout_path)
		return (dn->layout_path = strdup(layout_path));
	return store_copy_texts(dirs, &dn->data_dirs, &dn->num_data_dirs);
}

int block_store_replace(struct block_store *s, const char *datanode, struct block_texts images,
			const char *layout_path, struct block_texts dirs, enum tokens_mode tokens)
{
	struct store_datanode *old = find_datanode(s, datanode);
	struct store_datanode *dn = store_datanode_new(s, datanode, images, old);

	if (!dn)
		return -ENOMEM;
	if (old)
		store_datanode_get(old);
	if (set_places(dn, layout_path, dirs))
		dn->served = load_nothing(dn, "it was not looked into yet");
	if (dn->served)
		tokens_set_mode(dn->tokens, tokens);
	if (!dn->served || change_roster(s, old, dn)) {
		store_datanode_put(old);
		retire(dn);
		store_datanode_put(dn);
		return -ENOMEM;
	}
	if (old)
		retire(old);
	store_datanode_put(old);
	refresh_new(s);
	return 0;
}

int block_store_remove(struct block_store *s, const char *datanode)
{
	struct store_datanode *dn = find_datanode(s, datanode);
	int r;

	if (!dn)
		return -ENOENT;
	store_datanode_get(dn);
	r = change_roster(s, dn, NULL);
	if (r == 0)
		retire(dn);
	store_datanode_put(dn);
	return r;
}

/* ---- what is served ------------------------------------------------------------ */

struct served *store_datanode_served(struct store_datanode *dn)
{
	struct served *v;

	pthread_mutex_lock(&dn->lock);
	v = served_get(dn->served);
	pthread_mutex_unlock(&dn->lock);
	return v;
}

bool store_datanode_is_complete(struct store_datanode *dn)
{
	struct served *v = store_datanode_served(dn);
	bool complete = !v || (!v->missing && !atomic_load(&v->moved));

	served_put(v);
	return complete;
}

void store_datanode_serve(struct store_datanode *dn, struct served *v)
{
	struct served *old = v;

	pthread_mutex_lock(&dn->lock);
	if (!dn->removed) {
		old = dn->served;
		dn->served = v;
	}
	pthread_mutex_unlock(&dn->lock);
	forget_served(dn->store, old);
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

static bool datanode_has_storage(struct store_datanode *dn, const char *storage_id)
{
	struct served *v = store_datanode_served(dn);
	bool found = v && has_storage(v, storage_id);

	served_put(v);
	return found;
}

int block_store_find_storage(struct block_store *s, const char *storage_id, store_datanode_fn *fn,
			     void *ctx)
{
	struct roster *all = store_roster(s);
	int found = 0, r = 0;

	for (unsigned i = 0; r == 0 && i < all->count; i++) {
		if (!datanode_has_storage(all->datanode[i], storage_id))
			continue;
		found++;
		r = fn(ctx, all->datanode[i]);
	}
	for (unsigned i = 0; !found && i < all->count; i++)
		refresh_want(all->datanode[i]);
	roster_put(all);
	return r ? r : found;
}

static int each_storage(const struct served *v, const char *datanode, store_storage_fn *fn,
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

int block_store_each_storage(struct block_store *s, store_storage_fn *fn, void *ctx)
{
	struct roster *all = store_roster(s);
	int r = 0;

	for (unsigned i = 0; !r && i < all->count; i++) {
		struct served *v = store_datanode_served(all->datanode[i]);

		if (v)
			r = each_storage(v, all->datanode[i]->name, fn, ctx);
		served_put(v);
	}
	roster_put(all);
	return r;
}

/* ---- status ---------------------------------------------------------------------- */

static json_t *filesystem_state(const struct parser_fs *fs)
{
	static const char *const names[] = {"clean", "live", "refused", "unreadable"};
	char *reason;
	enum fs_state state = parser_fs_state(fs, &reason);
	json_t *text = reason && reason[0] ? json_sprintf("%s: %s", names[state], reason)
					   : json_string(names[state]);

	free(reason);
	return text;
}

/* In the layout's own form, with their states. */
static json_t *filesystems_status(const struct served *v)
{
	json_t *layout = layout_to_json(v->layout);
	json_t *array = json_incref(json_object_get(layout, "filesystems"));

	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		json_object_set_new(json_array_get(array, i), "state", filesystem_state(&v->fs[i]));
	json_decref(layout);
	return array;
}

static json_t *data_dirs_status(const struct store_datanode *dn)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < dn->num_data_dirs; i++)
		json_array_append_new(array, json_string(dn->data_dirs[i]));
	return array;
}

static void add_usage(json_t *entry, struct store_datanode *dn, unsigned image)
{
	struct image_usage u;

	pthread_mutex_lock(&dn->lock);
	u = dn->usage[image];
	pthread_mutex_unlock(&dn->lock);
	if (u.because[0])
		json_object_set_new(entry, "because", json_string(u.because));
	if (u.because[0] && u.owner != IMAGE_NO_OWNER)
		json_object_set_new(entry, "owner", json_integer(u.owner));
	if (u.warning[0])
		json_object_set_new(entry, "warning", json_string(u.warning));
}

/* New reference; NULL: nothing is below it. */
static json_t *chain_status(const struct image *img)
{
	json_t *chain = NULL;

	while ((img = image_backing(img))) {
		chain = chain ?: json_array();
		json_array_append_new(chain, json_pack("{s:s, s:s}", "image", image_path(img),
						       "format", image_format(img)));
	}
	return chain;
}

static int take_first_file(void *ctx, struct source *file)
{
	return source_identity(file, ctx) ?: 1;
}

/* So that who looks at the path can tell whether it is still the file that is read. */
static void add_identity(json_t *entry, struct image *img)
{
	struct source_identity id;

	if (image_for_each_file(img, take_first_file, &id) != 1)
		return;
	json_object_set_new(entry, "device", json_integer((json_int_t)id.dev));
	json_object_set_new(entry, "inode", json_integer((json_int_t)id.ino));
}

static json_t *images_status(struct store_datanode *dn, const struct served *v)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < dn->num_images; i++) {
		json_t *entry = json_pack("{s:s}", "image", dn->images[i]);
		const struct image *img = v->images ? v->images[i] : NULL;

		if (img) {
			const char *mode = image_is_direct(img) ? "direct" : "buffered";

			json_object_set_new(entry, "format", json_string(image_format(img)));
			json_object_set_new(entry, "mode", json_string(mode));
			json_object_set_new(entry, "size",
					    json_integer((json_int_t)image_size(img)));
			json_object_set_new(entry, "backing", chain_status(img));
			add_identity(entry, v->images[i]);
		}
		add_usage(entry, dn, i);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *datanode_status(struct store_datanode *dn, struct served *v)
{
	const char *state = v->layout->num_filesystems || !v->missing ? "served" : "waiting";
	json_t *status =
		json_pack("{s:s, s:o, s:s, s:o?, s:o?, s:o?}", "datanode", dn->name, "images",
			  images_status(dn, v), "state", state, "filesystems",
			  filesystems_status(v), "published", store_published_status(dn->published),
			  "tokens", tokens_status(dn->tokens));

	if (dn->layout_path)
		json_object_set_new(status, "layout", json_string(dn->layout_path));
	else
		json_object_set_new(status, "data-dirs", data_dirs_status(dn));
	if (v->parser)
		json_object_set_new(status, "parser", parser_status(v->parser));
	if (v->missing)
		json_object_set_new(status, "missing", json_string(v->missing));
	return status;
}

json_t *block_store_status(struct block_store *s)
{
	json_t *array = json_array();

	struct roster *all = store_roster(s);

	for (unsigned i = 0; i < all->count; i++) {
		struct served *v = store_datanode_served(all->datanode[i]);

		if (v)
			json_array_append_new(array, datanode_status(all->datanode[i], v));
		served_put(v);
	}
	roster_put(all);
	return array;
}

json_t *block_store_reading_status(struct block_store *s)
{
	const char *why = NULL;
	bool works = source_queue_works(&why);

	return json_pack("{s:I, s:o, s:o, s:s}", "read_ahead",
			 (json_int_t)atomic_load(&s->ahead.window), "disks",
			 shares_status(s->ahead.shares), "cache",
			 verified_cache_status(s->ahead.cache), "io_uring", works ? "ok" : why);
}
