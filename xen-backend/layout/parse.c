// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parser of layouts; see layout_parse() in layout.h.
 *
 * The parser is strict: every key must be known, no key may be missing or appear twice, and every
 * value must be in its range.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/parse_place.h"
#include "layout/strict.h"

static bool valid_uuid(const char *text)
{
	uuid_t uuid;

	return uuid_parse(text, uuid) == 0;
}

static int parse_pools(struct strict *p, const json_t *object, struct layout_data_dir *d)
{
	json_t *array = NULL;
	int r = strict_array(p, object, "pools", LAYOUT_MAX_POOLS, &array);

	if (r < 0)
		return r;
	d->pools = calloc(json_array_size(array) + 1, sizeof(*d->pools));
	if (!d->pools)
		return strict_out_of_memory(p);
	while (d->num_pools < json_array_size(array)) {
		char key[16];

		snprintf(key, sizeof(key), "pools[%u]", d->num_pools);
		r = strict_string_of(p, key, json_array_get(array, d->num_pools), layout_pool_valid,
				     "a block pool id (BP-...)", &d->pools[d->num_pools]);
		if (r < 0)
			return r;
		d->num_pools++;
	}
	return 0;
}

static int parse_namespaces(struct strict *p, const json_t *object, struct layout_data_dir *d)
{
	static const char what[] = "a number from 0 to 2147483647 for each pool";
	json_t *array = json_object_get(object, "namespace-ids");

	if (!array)
		return 0;
	if (!json_is_array(array) || json_array_size(array) != d->num_pools)
		return strict_expected(p, "namespace-ids", array, what);
	d->namespaces = calloc(d->num_pools + 1, sizeof(*d->namespaces));
	if (!d->namespaces)
		return strict_out_of_memory(p);
	for (unsigned i = 0; i < d->num_pools; i++) {
		const json_t *id = json_array_get(array, i);

		if (!json_is_integer(id) || json_integer_value(id) < 0 ||
		    json_integer_value(id) > INT32_MAX)
			return strict_expected(p, "namespace-ids", array, what);
		d->namespaces[i] = (uint32_t)json_integer_value(id);
	}
	return 0;
}

static int parse_data_dir(struct strict *p, const json_t *object, struct layout_data_dir *d)
{
	static const char *const keys[] = {"path",       "storage-id", "datanode-uuid",
					   "cluster-id", "pools",      "namespace-ids",
					   NULL};
	int r;

	if (!json_is_object(object))
		return strict_expected(p, "", object, "an object");
	(void)((r = strict_keys(p, object, keys)) < 0 ||
	       (r = strict_string(p, object, "path", layout_path_valid,
				  "an absolute path without ..", &d->path)) < 0 ||
	       (r = strict_string(p, object, "storage-id", layout_storage_id_valid,
				  "a storage id (DS-...)", &d->storage_id)) < 0 ||
	       (r = strict_string(p, object, "datanode-uuid", layout_id_valid, "a datanode UUID",
				  &d->datanode_uuid)) < 0 ||
	       (r = strict_string(p, object, "cluster-id", layout_id_valid,
				  "a cluster id (CID-...)", &d->cluster_id)) < 0 ||
	       (r = parse_pools(p, object, d)) < 0 || (r = parse_namespaces(p, object, d)) < 0);
	return r;
}

static int parse_data_dirs(struct strict *p, const json_t *object, struct layout_filesystem *fs)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = strict_array(p, object, "data-dirs", LAYOUT_MAX_DATA_DIRS, &array);

	if (r < 0)
		return r;
	fs->data_dirs = calloc(json_array_size(array) + 1, sizeof(*fs->data_dirs));
	if (!fs->data_dirs)
		return strict_out_of_memory(p);
	for (size_t i = 0; i < json_array_size(array); i++) {
		snprintf(p->where + base, sizeof(p->where) - base, ".data-dirs[%zu]", i);
		fs->num_data_dirs++;
		r = parse_data_dir(p, json_array_get(array, i), &fs->data_dirs[i]);
		if (r < 0)
			return r;
	}
	p->where[base] = '\0';
	return 0;
}

static int parse_filesystem(struct strict *p, const json_t *object,
			    const struct image_layout *layout, struct layout_filesystem *fs)
{
	char types[80];
	int r;

	if (!json_is_object(object))
		return strict_expected(p, "", object, "an object");
	snprintf(types, sizeof(types), "one of %s", layout_type_names());
	(void)((r = layout_parse_place(p, object, layout, fs)) < 0 ||
	       (r = strict_string(p, object, "type", layout_type_valid, types, &fs->type)) < 0 ||
	       (r = strict_string(p, object, "uuid", valid_uuid, "the file system's UUID",
				  &fs->uuid)) < 0 ||
	       (r = parse_data_dirs(p, object, fs)) < 0);
	return r;
}

static int parse_image(struct strict *p, const json_t *image, uint64_t *ret_size)
{
	static const char *const keys[] = {"size", NULL};
	int r;

	if (!json_is_object(image))
		return strict_expected(p, "", image, "an object");
	r = strict_keys(p, image, keys);
	return r < 0 ? r : strict_bytes(p, image, "size", ret_size);
}

static int parse_images(struct strict *p, const json_t *root, struct image_layout *layout)
{
	json_t *array = NULL;
	int r = strict_array(p, root, "images", LAYOUT_MAX_IMAGES, &array);

	if (r < 0)
		return r;
	layout->image_sizes = calloc(json_array_size(array) + 1, sizeof(*layout->image_sizes));
	if (!layout->image_sizes)
		return strict_out_of_memory(p);
	while (layout->num_images < json_array_size(array)) {
		unsigned i = layout->num_images++;

		snprintf(p->where, sizeof(p->where), "images[%u]", i);
		r = parse_image(p, json_array_get(array, i), &layout->image_sizes[i]);
		if (r < 0)
			return r;
	}
	p->where[0] = '\0';
	return 0;
}

static int parse_root(struct strict *p, const json_t *root, struct image_layout *layout)
{
	static const char *const keys[] = {"layout-version", "images", "filesystems", NULL};
	json_t *version = json_object_get(root, "layout-version"), *array = NULL;
	int r;

	if (!json_is_object(root))
		return strict_expected(p, "the document", root, "an object");
	if (!json_is_integer(version) || json_integer_value(version) != LAYOUT_VERSION)
		return strict_expected(p, "layout-version", version,
				       "2; run vread-provision of this version again");
	if ((r = strict_keys(p, root, keys)) < 0 || (r = parse_images(p, root, layout)) < 0 ||
	    (r = strict_array(p, root, "filesystems", LAYOUT_MAX_FILESYSTEMS, &array)) < 0)
		return r;
	layout->filesystems = calloc(json_array_size(array) + 1, sizeof(*layout->filesystems));
	if (!layout->filesystems)
		return strict_out_of_memory(p);
	for (size_t i = 0; i < json_array_size(array); i++) {
		snprintf(p->where, sizeof(p->where), "filesystems[%zu]", i);
		layout->num_filesystems++;
		r = parse_filesystem(p, json_array_get(array, i), layout, &layout->filesystems[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int layout_parse(const char *text, size_t length, const char *name, struct image_layout **ret,
		 char **ret_error)
{
	struct strict p = {.name = name, .ret_error = ret_error};
	struct image_layout *layout;
	json_error_t error;
	json_t *root;
	int r;

	root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!root)
		return error_text(ret_error, -EINVAL, "layout %s: line %d, column %d: %s", name,
				  error.line, error.column, error.text);
	layout = calloc(1, sizeof(*layout));
	r = layout ? parse_root(&p, root, layout)
		   : error_text(ret_error, -ENOMEM, "layout %s: out of memory", name);
	json_decref(root);
	if (r < 0) {
		layout_free(layout);
		return r;
	}
	*ret = layout;
	return 0;
}
