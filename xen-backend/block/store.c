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
#include "image/error.h"

struct block_store *block_store_new(void)
{
	struct block_store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cache = replica_cache_new();
	if (!s->cache) {
		free(s);
		return NULL;
	}
	return s;
}

static void free_datanode(struct store_datanode *dn)
{
	if (!dn)
		return;
	served_put(dn->served);
	pthread_mutex_destroy(&dn->lock);
	published_free(dn->published);
	for (unsigned i = 0; i < dn->num_data_dirs; i++)
		free(dn->data_dirs[i]);
	free(dn->data_dirs);
	free(dn->layout_path);
	free(dn->image_path);
	free(dn->name);
	free(dn);
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	refresher_stop(s);
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

/* ---- adding ------------------------------------------------------------------ */

static bool is_served(const struct block_store *s, const char *datanode)
{
	for (unsigned i = 0; i < s->num_datanodes; i++)
		if (!strcmp(s->datanodes[i]->name, datanode))
			return true;
	return false;
}

static struct store_datanode *new_datanode(struct block_store *s, const char *name,
					   const char *image_path)
{
	struct store_datanode *dn = calloc(1, sizeof(*dn));

	if (!dn)
		return NULL;
	pthread_mutex_init(&dn->lock, NULL);
	dn->store = s;
	dn->name = strdup(name);
	dn->image_path = strdup(image_path);
	dn->published = published_new();
	if (dn->name && dn->image_path && dn->published)
		return dn;
	free_datanode(dn);
	return NULL;
}

static bool copy_data_dirs(struct store_datanode *dn, const char *const *dirs, unsigned num_dirs)
{
	dn->data_dirs = calloc(num_dirs, sizeof(*dn->data_dirs));
	while (dn->data_dirs && dn->num_data_dirs < num_dirs) {
		char *dir = strdup(dirs[dn->num_data_dirs]);

		if (!dir)
			return false;
		dn->data_dirs[dn->num_data_dirs++] = dir;
	}
	return dn->data_dirs != NULL;
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
static int begin_add(struct block_store *s, const char *datanode, const char *image_path,
		     struct store_datanode **ret, char **ret_error)
{
	*ret_error = NULL;
	if (is_served(s, datanode))
		return error_text(ret_error, -EEXIST, "datanode %s is named twice", datanode);
	*ret = make_room(s) ? new_datanode(s, datanode, image_path) : NULL;
	if (!*ret)
		return out_of_memory(datanode, ret_error);
	s->datanodes[s->num_datanodes] = *ret;
	return 0;
}

int block_store_add(struct block_store *s, const char *datanode, const char *image_path,
		    const char *layout_path, char **ret_error)
{
	struct store_datanode *dn = NULL;
	int r = begin_add(s, datanode, image_path, &dn, ret_error);

	if (r < 0)
		return r;
	dn->layout_path = strdup(layout_path);
	if (dn->layout_path)
		r = load_by_layout(dn, &dn->served, ret_error);
	else
		r = out_of_memory(datanode, ret_error);
	if (r < 0)
		free_datanode(dn);
	else
		s->num_datanodes++;
	return r;
}

int block_store_add_data_dirs(struct block_store *s, const char *datanode, const char *image_path,
			      const char *const *dirs, unsigned num_dirs, char **ret_error)
{
	struct store_datanode *dn = NULL;
	int r = begin_add(s, datanode, image_path, &dn, ret_error);

	if (r < 0)
		return r;
	if (copy_data_dirs(dn, dirs, num_dirs))
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
	bool complete = !v->missing;

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

static json_t *filesystem_state(struct fs *fs)
{
	const char *reason;

	switch (fs_state(fs, &reason)) {
	case FS_CLEAN:
		return json_string("clean");
	case FS_LIVE:
		return json_string("live");
	case FS_REFUSED:
		return json_sprintf("refused: %s", reason);
	default:
		return json_sprintf("unreadable: %s", reason);
	}
}

/* In the layout's own form, with their states. */
static json_t *filesystems_status(const struct served *v)
{
	json_t *layout = layout_to_json(v->layout);
	json_t *array = json_incref(json_object_get(layout, "filesystems"));

	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		json_object_set_new(json_array_get(array, i), "state", filesystem_state(v->fs[i]));
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

static json_t *datanode_status(struct store_datanode *dn)
{
	struct served *v = store_datanode_served(dn);
	const char *state = v->layout->num_filesystems || dn->layout_path ? "served" : "waiting";
	json_t *status =
		json_pack("{s:s, s:s, s:s, s:o?, s:o?}", "datanode", dn->name, "image",
			  dn->image_path, "state", state, "filesystems", filesystems_status(v),
			  "published", store_published_status(dn->published));

	if (dn->layout_path)
		json_object_set_new(status, "layout", json_string(dn->layout_path));
	else
		json_object_set_new(status, "data-dirs", data_dirs_status(dn));
	if (v->missing)
		json_object_set_new(status, "missing", json_string(v->missing));
	if (v->source) {
		json_object_set_new(status, "mode",
				    json_string(image_source_is_direct(v->source) ? "direct"
										  : "buffered"));
		json_object_set_new(status, "size",
				    json_integer((json_int_t)image_source_size(v->source)));
	}
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
