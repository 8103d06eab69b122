// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the part of the status document about datanodes: registry_status() of registry.h, which
 * control/ calls.
 */
#include <string.h>

#include "base/clock.h"
#include "datanode/datanode_private.h"
#include "datanode/states.h"

/* Returns the file systems in the form of a layout, each with its state. */
static json_t *filesystems_status(struct served *v, uint64_t number)
{
	json_t *layout = layout_to_json(v->layout), *states = states_answer(v, number);
	json_t *array = json_incref(json_object_get(layout, "filesystems")), *entry;
	size_t i;

	json_array_foreach(array, i, entry)
	{
		json_t *state = json_array_get(states, i);

		json_object_set_new(entry, "state",
				    state ? json_incref(state)
					  : json_string("unknown: its parser does not answer"));
	}
	json_decref(states);
	json_decref(layout);
	return array;
}

static json_t *data_dirs_status(const struct datanode *dn)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < dn->num_data_dirs; i++)
		json_array_append_new(array, json_string(dn->data_dirs[i]));
	return array;
}

static void add_usage(json_t *entry, struct datanode *dn, unsigned image)
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

/* Returns a new reference: the chain of backing files, nearest first; NULL if there is none. */
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

/* Adds the device and inode of the image's file, so that a user can check whether the path still
 * names the file that is read. */
static void add_identity(json_t *entry, struct image *img)
{
	struct source_identity id;

	if (image_for_each_file(img, take_first_file, &id) != 1)
		return;
	json_object_set_new(entry, "device", json_integer((json_int_t)id.dev));
	json_object_set_new(entry, "inode", json_integer((json_int_t)id.ino));
}

static json_t *images_status(struct datanode *dn, const struct served *v)
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

static const char *state_of(struct datanode *dn, const struct served *v)
{
	bool looking;

	pthread_mutex_lock(&dn->lock);
	looking = dn->added && !dn->seen;
	pthread_mutex_unlock(&dn->lock);
	if (looking)
		return "looking";
	return v->layout->num_filesystems || !v->missing ? "served" : "waiting";
}

static void add_shortage(json_t *status, struct datanode *dn)
{
	pthread_mutex_lock(&dn->lock);
	if (dn->shortage[0])
		json_object_set_new(status, "shortage", json_string(dn->shortage));
	pthread_mutex_unlock(&dn->lock);
}

static json_t *datanode_status(struct datanode *dn, struct served *v, uint64_t number)
{
	const char *state = state_of(dn, v);
	json_t *status = json_pack("{s:s, s:o, s:s, s:o?, s:o?, s:o?}", "datanode", dn->name,
				   "images", images_status(dn, v), "state", state, "filesystems",
				   filesystems_status(v, number), "published",
				   published_json(dn->published, (time_t)(clock_ms() / 1000)),
				   "tokens", tokens_status(dn->tokens));

	if (dn->layout_path)
		json_object_set_new(status, "layout", json_string(dn->layout_path));
	else
		json_object_set_new(status, "data-dirs", data_dirs_status(dn));
	if (v->parser)
		json_object_set_new(status, "parser", parser_status(v->parser));
	if (json_array_size(v->refused))
		json_object_set_new(status, "refused-storages", json_deep_copy(v->refused));
	if (v->missing)
		json_object_set_new(status, "missing", json_string(v->missing));
	add_shortage(status, dn);
	return status;
}

json_t *registry_status(struct registry *s, uint64_t number)
{
	json_t *array = json_array();
	struct roster *all = registry_roster(s);

	for (unsigned i = 0; i < all->count; i++) {
		struct served *v = datanode_served(all->datanode[i]);

		if (v)
			json_array_append_new(array, datanode_status(all->datanode[i], v, number));
		served_put(v);
	}
	roster_put(all);
	return array;
}
