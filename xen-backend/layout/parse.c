// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The layout's parser.  Strict: every key known, none missing or twice, every
 * value in its range.  Messages name the file, the place in the document, the
 * value found and what was expected.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "base/error.h"
#include "fs/fs.h"
#include "layout/layout.h"
#include "vreadif.h"

struct parser {
	const char *name;
	char **ret_error;
	char where[160]; /* "filesystems[0].data-dirs[1]" */
};

static int expected(struct parser *p, const char *key, const json_t *value, const char *what)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	const char *dot = p->where[0] && key[0] ? "." : "";

	if (value)
		error_text(p->ret_error, 0, "layout %s: %s%s%s is %.80s; expected %s", p->name,
			   p->where, dot, key, text ? text : "?", what);
	else
		error_text(p->ret_error, 0, "layout %s: %s%s%s is missing; expected %s", p->name,
			   p->where, dot, key, what);
	free(text);
	return -EINVAL;
}

static int known_keys(struct parser *p, const json_t *object, const char *const *keys)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		unsigned i = 0;

		while (keys[i] && strcmp(keys[i], key))
			i++;
		if (!keys[i])
			return expected(p, key, value, "no such key (misspelt?)");
	}
	return 0;
}

static int get_array(struct parser *p, const json_t *parent, const char *key, unsigned max,
		     json_t **ret)
{
	json_t *value = json_object_get(parent, key);
	char what[48];

	if (!json_is_array(value) || json_array_size(value) > max) {
		snprintf(what, sizeof(what), "an array of at most %u", max);
		return expected(p, key, value, what);
	}
	*ret = value;
	return 0;
}

static int get_bytes(struct parser *p, const json_t *parent, const char *key, uint64_t *ret)
{
	json_t *value = json_object_get(parent, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return expected(p, key, value, "a number of bytes");
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

typedef bool valid_fn(const char *text);

static int check_string(struct parser *p, const char *key, const json_t *value, valid_fn *valid,
			const char *what, char **ret)
{
	if (!json_is_string(value) ||
	    strlen(json_string_value(value)) != json_string_length(value) ||
	    !valid(json_string_value(value)))
		return expected(p, key, value, what);
	*ret = strdup(json_string_value(value));
	if (!*ret)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
	return 0;
}

static int get_string(struct parser *p, const json_t *parent, const char *key, valid_fn *valid,
		      const char *what, char **ret)
{
	return check_string(p, key, json_object_get(parent, key), valid, what, ret);
}

static bool graphic(const char *text, size_t max)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	return length > 0 && length <= max;
}

bool layout_storage_id_valid(const char *text)
{
	return graphic(text, VREAD_MAX_STORAGE_ID);
}

static bool valid_id(const char *text)
{
	return graphic(text, 255);
}

bool layout_pool_valid(const char *text)
{
	return graphic(text, VREAD_MAX_POOL_ID) && !strchr(text, '/') && text[0] != '.';
}

static bool valid_uuid(const char *text)
{
	uuid_t uuid;

	return uuid_parse(text, uuid) == 0;
}

/* As LVM allows: "group/volume". */
bool layout_lv_name_valid(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+_.-";
	size_t group = strspn(text, letters), volume;

	if (group == 0 || text[group] != '/')
		return false;
	volume = strspn(text + group + 1, letters);
	return volume != 0 && text[group + 1 + volume] == '\0' &&
	       group + 1 + volume < LAYOUT_MAX_LV_NAME;
}

bool layout_path_valid(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return text[0] == '/' && length < LAYOUT_MAX_PATH && !strstr(text, "/../") &&
	       (length < 3 || strcmp(text + length - 3, "/.."));
}

static int parse_pools(struct parser *p, const json_t *object, struct layout_data_dir *d)
{
	json_t *array = NULL;
	int r = get_array(p, object, "pools", LAYOUT_MAX_POOLS, &array);

	if (r < 0)
		return r;
	d->pools = calloc(json_array_size(array) + 1, sizeof(*d->pools));
	if (!d->pools)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
	while (d->num_pools < json_array_size(array)) {
		char key[16];

		snprintf(key, sizeof(key), "pools[%u]", d->num_pools);
		r = check_string(p, key, json_array_get(array, d->num_pools), layout_pool_valid,
				 "a block pool id (BP-...)", &d->pools[d->num_pools]);
		if (r < 0)
			return r;
		d->num_pools++;
	}
	return 0;
}

static int parse_data_dir(struct parser *p, const json_t *object, struct layout_data_dir *d)
{
	static const char *const keys[] = {"path",       "storage-id", "datanode-uuid",
					   "cluster-id", "pools",      NULL};
	int r;

	if (!json_is_object(object))
		return expected(p, "", object, "an object");
	(void)((r = known_keys(p, object, keys)) < 0 ||
	       (r = get_string(p, object, "path", layout_path_valid, "an absolute path without ..",
			       &d->path)) < 0 ||
	       (r = get_string(p, object, "storage-id", layout_storage_id_valid,
			       "a storage id (DS-...)", &d->storage_id)) < 0 ||
	       (r = get_string(p, object, "datanode-uuid", valid_id, "a datanode UUID",
			       &d->datanode_uuid)) < 0 ||
	       (r = get_string(p, object, "cluster-id", valid_id, "a cluster id (CID-...)",
			       &d->cluster_id)) < 0 ||
	       (r = parse_pools(p, object, d)) < 0);
	return r;
}

static int parse_partition(struct parser *p, const json_t *object, struct layout_filesystem *fs)
{
	static const char what[] = "\"gpt:N\", \"mbr:N\" (N from 1 to 9999) or \"none\"";
	json_t *value = json_object_get(object, "partition");
	const char *text = json_string_value(value);
	char *end;

	if (!text)
		return expected(p, "partition", value, what);
	if (!strcmp(text, "none"))
		return 0;
	if (strncmp(text, "gpt:", 4) && strncmp(text, "mbr:", 4))
		return expected(p, "partition", value, what);
	if (text[4] < '1' || text[4] > '9' || strlen(text) > 8)
		return expected(p, "partition", value, what);
	fs->table = text[0] == 'g' ? LAYOUT_GPT : LAYOUT_MBR;
	fs->partition = (unsigned)strtoul(text + 4, &end, 10);
	return *end ? expected(p, "partition", value, what) : 0;
}

static int parse_range(struct parser *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs)
{
	uint64_t image_size, image = 0;
	char what[80];
	int r = get_bytes(p, object, "image", &image);

	if (r < 0)
		return r;
	if (image >= layout->num_images)
		return expected(p, "image", json_object_get(object, "image"),
				"the number of one of the images, from 0");
	fs->image = (unsigned)image;
	image_size = layout->image_sizes[image];
	if ((r = get_bytes(p, object, "offset", &fs->offset)) < 0 ||
	    (r = get_bytes(p, object, "length", &fs->length)) < 0)
		return r;
	snprintf(what, sizeof(what), "offset + length inside the image of %llu bytes",
		 (unsigned long long)image_size);
	if (fs->offset % 512 || (fs->table == LAYOUT_NONE && fs->offset != 0))
		return expected(p, "offset", json_object_get(object, "offset"),
				"a multiple of 512, and 0 without a partition table");
	if (fs->length == 0 || fs->offset > image_size || fs->length > image_size - fs->offset)
		return expected(p, "length", json_object_get(object, "length"), what);
	return 0;
}

static int parse_data_dirs(struct parser *p, const json_t *object, struct layout_filesystem *fs)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = get_array(p, object, "data-dirs", LAYOUT_MAX_DATA_DIRS, &array);

	if (r < 0)
		return r;
	fs->data_dirs = calloc(json_array_size(array) + 1, sizeof(*fs->data_dirs));
	if (!fs->data_dirs)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
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

static int parse_stripe(struct parser *p, const json_t *object, const struct image_layout *layout,
			uint64_t length, struct layout_stripe *ret)
{
	static const char *const keys[] = {"image", "offset", NULL};
	uint64_t image = 0, size;
	char what[80];
	int r;

	if (!json_is_object(object))
		return expected(p, "", object, "an object");
	if ((r = known_keys(p, object, keys)) < 0 ||
	    (r = get_bytes(p, object, "image", &image)) < 0 ||
	    (r = get_bytes(p, object, "offset", &ret->offset)) < 0)
		return r;
	if (image >= layout->num_images)
		return expected(p, "image", json_object_get(object, "image"),
				"the number of one of the images");
	ret->image = (unsigned)image;
	size = layout->image_sizes[image];
	snprintf(what, sizeof(what), "a stripe inside the image of %llu bytes",
		 (unsigned long long)size);
	if (ret->offset % 512 || ret->offset > size || length > size - ret->offset)
		return expected(p, "offset", json_object_get(object, "offset"), what);
	return 0;
}

static int parse_stripes(struct parser *p, const json_t *object, const struct image_layout *layout,
			 struct layout_segment *s)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = get_array(p, object, "stripes", VOLUME_MAX_STRIPES, &array);

	if (r < 0)
		return r;
	s->num_stripes = (unsigned)json_array_size(array);
	if (s->num_stripes == 0)
		return expected(p, "stripes", array, "at least one");
	if (s->num_stripes > 1 && (r = get_bytes(p, object, "stripe-size", &s->stripe_size)) < 0)
		return r;
	if (s->length == 0 || s->length % s->num_stripes ||
	    (s->num_stripes > 1 &&
	     (s->stripe_size == 0 || s->length / s->num_stripes % s->stripe_size)))
		return expected(p, "length", json_object_get(object, "length"),
				"bytes that fill each stripe");
	s->stripes = calloc(s->num_stripes, sizeof(*s->stripes));
	if (!s->stripes)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
	for (unsigned i = 0; i < s->num_stripes && r == 0; i++) {
		snprintf(p->where + base, sizeof(p->where) - base, ".stripes[%u]", i);
		r = parse_stripe(p, json_array_get(array, i), layout, s->length / s->num_stripes,
				 &s->stripes[i]);
	}
	if (r == 0)
		p->where[base] = '\0';
	return r;
}

static int parse_segment(struct parser *p, const json_t *object, const struct image_layout *layout,
			 struct layout_segment *s)
{
	static const char *const keys[] = {"length", "stripe-size", "stripes", NULL};
	int r;

	if (!json_is_object(object))
		return expected(p, "", object, "an object");
	if ((r = known_keys(p, object, keys)) < 0 ||
	    (r = get_bytes(p, object, "length", &s->length)) < 0)
		return r;
	return parse_stripes(p, object, layout, s);
}

static int parse_segments(struct parser *p, const json_t *object, const struct image_layout *layout,
			  struct layout_filesystem *fs)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = get_array(p, object, "segments", VOLUME_MAX_SEGMENTS, &array);

	if (r < 0)
		return r;
	if (json_array_size(array) == 0)
		return expected(p, "segments", array, "at least one");
	fs->segments = calloc(json_array_size(array), sizeof(*fs->segments));
	if (!fs->segments)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
	while (fs->num_segments < json_array_size(array)) {
		unsigned i = fs->num_segments++;

		snprintf(p->where + base, sizeof(p->where) - base, ".segments[%u]", i);
		r = parse_segment(p, json_array_get(array, i), layout, &fs->segments[i]);
		if (r < 0)
			return r;
		if (__builtin_add_overflow(fs->length, fs->segments[i].length, &fs->length))
			return expected(p, "length", json_object_get(object, "length"),
					"a length that can be added to those before it");
	}
	fs->image = fs->segments[0].stripes[0].image;
	p->where[base] = '\0';
	return 0;
}

/* Where it lies: a partition, or a logical volume. */
static int parse_place(struct parser *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs)
{
	static const char *const keys[] = {"image", "partition", "offset",    "length",
					   "type",  "uuid",      "data-dirs", NULL};
	static const char *const lv_keys[] = {"volume", "segments",  "type",
					      "uuid",   "data-dirs", NULL};
	int r;

	if (json_object_get(object, "volume")) {
		fs->table = LAYOUT_LVM;
		(void)((r = known_keys(p, object, lv_keys)) < 0 ||
		       (r = get_string(p, object, "volume", layout_lv_name_valid,
				       "a logical volume's name: GROUP/VOLUME", &fs->volume)) < 0 ||
		       (r = parse_segments(p, object, layout, fs)) < 0);
	} else {
		(void)((r = known_keys(p, object, keys)) < 0 ||
		       (r = parse_partition(p, object, fs)) < 0 ||
		       (r = parse_range(p, object, layout, fs)) < 0);
	}
	return r;
}

static int parse_filesystem(struct parser *p, const json_t *object,
			    const struct image_layout *layout, struct layout_filesystem *fs)
{
	char types[80];
	int r;

	if (!json_is_object(object))
		return expected(p, "", object, "an object");
	snprintf(types, sizeof(types), "one of %s", fs_type_names());
	(void)((r = parse_place(p, object, layout, fs)) < 0 ||
	       (r = get_string(p, object, "type", fs_type_known, types, &fs->type)) < 0 ||
	       (r = get_string(p, object, "uuid", valid_uuid, "the file system's UUID",
			       &fs->uuid)) < 0 ||
	       (r = parse_data_dirs(p, object, fs)) < 0);
	return r;
}

static int parse_image(struct parser *p, const json_t *image, uint64_t *ret_size)
{
	static const char *const keys[] = {"size", NULL};
	int r;

	if (!json_is_object(image))
		return expected(p, "", image, "an object");
	r = known_keys(p, image, keys);
	return r < 0 ? r : get_bytes(p, image, "size", ret_size);
}

static int parse_images(struct parser *p, const json_t *root, struct image_layout *layout)
{
	json_t *array = NULL;
	int r = get_array(p, root, "images", LAYOUT_MAX_IMAGES, &array);

	if (r < 0)
		return r;
	layout->image_sizes = calloc(json_array_size(array) + 1, sizeof(*layout->image_sizes));
	if (!layout->image_sizes)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
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

static int parse_root(struct parser *p, const json_t *root, struct image_layout *layout)
{
	static const char *const keys[] = {"layout-version", "images", "filesystems", NULL};
	json_t *version = json_object_get(root, "layout-version"), *array = NULL;
	int r;

	if (!json_is_object(root))
		return expected(p, "the document", root, "an object");
	if (!json_is_integer(version) || json_integer_value(version) != LAYOUT_VERSION)
		return expected(p, "layout-version", version,
				"2; run vread-provision of this version again");
	if ((r = known_keys(p, root, keys)) < 0 || (r = parse_images(p, root, layout)) < 0 ||
	    (r = get_array(p, root, "filesystems", LAYOUT_MAX_FILESYSTEMS, &array)) < 0)
		return r;
	layout->filesystems = calloc(json_array_size(array) + 1, sizeof(*layout->filesystems));
	if (!layout->filesystems)
		return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
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
	struct parser p = {.name = name, .ret_error = ret_error};
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
