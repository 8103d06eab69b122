// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registry of datanodes and their images; see store.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/internal.h"
#include "block/refresh.h"
#include "block/usage.h"
#include "base/error.h"
#include "disk/source_queue.h"

struct block_store *block_store_new(void)
{
	struct block_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cache = replica_cache_new();
	s->ahead.shares = shares_new();
	if (!s->cache || !s->ahead.shares) {
		block_store_free(s);
		return NULL;
	}
	return s;
}

int block_store_set_memory(struct block_store *s, size_t read_ahead, size_t cache)
{
	s->ahead.window = read_ahead;
	if (cache < VERIFIED_UNIT)
		return 0;
	s->ahead.cache = verified_cache_new(cache);
	return s->ahead.cache ? 0 : -ENOMEM;
}

static void free_texts(char **texts, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static bool copy_texts(struct block_texts from, char ***ret, unsigned *ret_count)
{
	*ret = calloc(from.count, sizeof(**ret));
	for (*ret_count = 0; *ret && *ret_count < from.count; ++*ret_count) {
		char *copy = strdup(from.text[*ret_count]);

		if (!copy)
			return false;
		(*ret)[*ret_count] = copy;
	}
	return *ret != NULL;
}

static void free_datanode(struct store_datanode *dn)
{
	if (!dn)
		return;
	served_put(dn->served);
	pthread_mutex_destroy(&dn->lock);
	published_free(dn->published);
	free_texts(dn->data_dirs, dn->num_data_dirs);
	free_texts(dn->images, dn->num_images);
	free(dn->usage);
	free(dn->layout_path);
	free(dn->name);
	free(dn);
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	refresher_stop(s);
	shares_free(s->ahead.shares);
	verified_cache_free(s->ahead.cache);
	replica_cache_free(s->cache);
	for (unsigned i = 0; i < s->num_datanodes; i++)
		free_datanode(s->datanodes[i]);
	free(s->datanodes);
	free(s);
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

static bool is_served(const struct block_store *s, const char *datanode)
{
	for (unsigned i = 0; i < s->num_datanodes; i++)
		if (!strcmp(s->datanodes[i]->name, datanode))
			return true;
	return false;
}

static struct store_datanode *new_datanode(struct block_store *s, const char *name,
					   struct block_texts images)
{
	struct store_datanode *dn = calloc(1, sizeof(*dn));

	if (!dn)
		return NULL;
	pthread_mutex_init(&dn->lock, NULL);
	dn->store = s;
	dn->name = strdup(name);
	dn->published = published_new();
	dn->usage = calloc(images.count, sizeof(*dn->usage));
	if (dn->name && dn->published && dn->usage &&
	    copy_texts(images, &dn->images, &dn->num_images))
		return dn;
	free_datanode(dn);
	return NULL;
}

static bool make_room(struct block_store *s)
{
	struct store_datanode **grown;

	grown = reallocarray(s->datanodes, s->num_datanodes + 1, sizeof(struct store_datanode *));
	if (grown)
		s->datanodes = grown;
	return grown != NULL;
}

static int out_of_memory(const char *datanode, char **ret_error)
{
	return error_text(ret_error, -ENOMEM, "datanode %s: out of memory", datanode);
}

/* A new datanode that is in the store's list as soon as it is counted. */
static int begin_add(struct block_store *s, const char *datanode, struct block_texts images,
		     struct store_datanode **ret, char **ret_error)
{
	*ret_error = NULL;
	if (is_served(s, datanode))
		return error_text(ret_error, -EEXIST, "datanode %s is named twice", datanode);
	*ret = make_room(s) ? new_datanode(s, datanode, images) : NULL;
	if (!*ret)
		return out_of_memory(datanode, ret_error);
	s->datanodes[s->num_datanodes] = *ret;
	return 0;
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
	if (r < 0)
		free_datanode(dn);
	else
		s->num_datanodes++;
	return r;
}

int block_store_add_data_dirs(struct block_store *s, const char *datanode,
			      struct block_texts images, struct block_texts dirs, char **ret_error)
{
	struct store_datanode *dn = NULL;
	int r = begin_add(s, datanode, images, &dn, ret_error);

	if (r < 0)
		return r;
	if (copy_texts(dirs, &dn->data_dirs, &dn->num_data_dirs))
		refresh_look(dn);
	if (!dn->served) {
		free_datanode(dn);
		return out_of_memory(datanode, ret_error);
	}
	s->num_datanodes++;
	return 0;
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
	bool complete = !v->missing && !atomic_load(&v->moved);

	served_put(v);
	return complete;
}

void store_datanode_serve(struct store_datanode *dn, struct served *v)
{
	struct served *old;

	pthread_mutex_lock(&dn->lock);
	old = dn->served;
	dn->served = v;
	pthread_mutex_unlock(&dn->lock);
	if (!old)
		return;
	atomic_store(&old->retired, true);
	replica_cache_forget(dn->store->cache, old);
	verified_cache_forget(dn->store->ahead.cache, old);
	served_put(old);
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

struct store_datanode *block_store_find_storage(struct block_store *s, const char *storage_id,
						const struct store_datanode *after)
{
	bool passed = after == NULL;

	for (unsigned i = 0; i < s->num_datanodes; i++) {
		struct store_datanode *dn = s->datanodes[i];
		struct served *v;
		bool found;

		if (!passed) {
			passed = dn == after;
			continue;
		}
		v = store_datanode_served(dn);
		found = has_storage(v, storage_id);
		served_put(v);
		if (found)
			return dn;
	}
	for (unsigned i = 0; !after && i < s->num_datanodes; i++)
		refresh_want(s->datanodes[i]);
	return NULL;
}

const char *store_datanode_name(const struct store_datanode *dn)
{
	return dn->name;
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
		}
		add_usage(entry, dn, i);
		json_array_append_new(array, entry);
	}
	return array;
}

static json_t *datanode_status(struct store_datanode *dn)
{
	struct served *v = store_datanode_served(dn);
	const char *state = v->layout->num_filesystems || !v->missing ? "served" : "waiting";
	json_t *status = json_pack("{s:s, s:o, s:s, s:o?, s:o?}", "datanode", dn->name, "images",
				   images_status(dn, v), "state", state, "filesystems",
				   filesystems_status(v), "published",
				   store_published_status(dn->published));

	if (dn->layout_path)
		json_object_set_new(status, "layout", json_string(dn->layout_path));
	else
		json_object_set_new(status, "data-dirs", data_dirs_status(dn));
	if (v->parser)
		json_object_set_new(status, "parser", parser_status(v->parser));
	if (v->missing)
		json_object_set_new(status, "missing", json_string(v->missing));
	served_put(v);
	return status;
}

json_t *block_store_status(struct block_store *s)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < s->num_datanodes; i++)
		json_array_append_new(array, datanode_status(s->datanodes[i]));
	return array;
}

json_t *block_store_reading_status(struct block_store *s)
{
	const char *why = NULL;
	bool works = source_queue_works(&why);

	return json_pack("{s:I, s:o, s:o, s:s}", "read_ahead", (json_int_t)s->ahead.window, "disks",
			 shares_status(s->ahead.shares), "cache",
			 verified_cache_status(s->ahead.cache), "io_uring", works ? "ok" : why);
}
