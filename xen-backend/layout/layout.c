// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The life of a layout in memory: loading its file, comparing, freeing, and writing JSON; see
 * layout.h.  The parser is in parse.c, the checks of texts are in valid.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "layout/layout.h"

const char *layout_volume_name(const struct layout_filesystem *fs, char buf[LAYOUT_MAX_VOLUME_NAME])
{
	if (fs->table == LAYOUT_NONE)
		return strcpy(buf, "none");
	if (fs->table == LAYOUT_LVM)
		snprintf(buf, LAYOUT_MAX_VOLUME_NAME, "lvm:%s", fs->volume);
	else
		snprintf(buf, LAYOUT_MAX_VOLUME_NAME, "%s:%u",
			 fs->table == LAYOUT_GPT ? "gpt" : "mbr", fs->partition % 10000);
	return buf;
}

const char *layout_place(const struct layout_filesystem *fs, char buf[LAYOUT_MAX_PLACE])
{
	char name[LAYOUT_MAX_VOLUME_NAME];

	if (fs->table == LAYOUT_NONE)
		return strcpy(buf, "the whole disk");
	if (fs->table == LAYOUT_LVM)
		snprintf(buf, LAYOUT_MAX_PLACE, "logical volume %s", fs->volume);
	else
		snprintf(buf, LAYOUT_MAX_PLACE, "partition %s", layout_volume_name(fs, name));
	return buf;
}

static bool same_segment(const struct layout_segment *a, const struct layout_segment *b)
{
	if (a->length != b->length || a->stripe_size != b->stripe_size ||
	    a->num_stripes != b->num_stripes)
		return false;
	for (unsigned i = 0; i < a->num_stripes; i++)
		if (a->stripes[i].image != b->stripes[i].image ||
		    a->stripes[i].offset != b->stripes[i].offset)
			return false;
	return true;
}

bool layout_same_place(const struct layout_filesystem *a, const struct layout_filesystem *b)
{
	if (a->table != b->table || a->image != b->image || a->length != b->length)
		return false;
	if (a->table != LAYOUT_LVM)
		return a->partition == b->partition && a->offset == b->offset;
	if (strcmp(a->volume, b->volume) || a->num_segments != b->num_segments)
		return false;
	for (unsigned i = 0; i < a->num_segments; i++)
		if (!same_segment(&a->segments[i], &b->segments[i]))
			return false;
	return true;
}

bool layout_is_on(const struct layout_filesystem *fs, struct image *const *images)
{
	if (!images[fs->image])
		return false;
	for (unsigned i = 0; i < fs->num_segments; i++)
		for (unsigned k = 0; k < fs->segments[i].num_stripes; k++)
			if (!images[fs->segments[i].stripes[k].image])
				return false;
	return true;
}

void layout_only_on(struct image_layout *layout, struct image *const *images)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < layout->num_filesystems; i++) {
		struct layout_filesystem *fs = &layout->filesystems[i];

		if (layout_is_on(fs, images))
			layout->filesystems[kept++] = *fs;
		else
			layout_filesystem_clear(fs);
	}
	layout->num_filesystems = kept;
}

bool layout_copy_segments(const struct layout_filesystem *from, struct layout_filesystem *to)
{
	to->segments = calloc(from->num_segments + 1, sizeof(*to->segments));
	if (!to->segments)
		return false;
	while (to->num_segments < from->num_segments) {
		const struct layout_segment *s = &from->segments[to->num_segments];
		struct layout_stripe *stripes = calloc(s->num_stripes, sizeof(*stripes));

		if (!stripes)
			return false;
		memcpy(stripes, s->stripes, s->num_stripes * sizeof(*stripes));
		to->segments[to->num_segments] = *s;
		to->segments[to->num_segments++].stripes = stripes;
	}
	return true;
}

/* Reads at most size bytes of a file.  Returns how many, or negative errno. */
static ssize_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t got = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (got < size) {
		n = read(fd, buf + got, size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : (ssize_t)got;
}

int layout_load(const char *path, struct image_layout **ret, char **ret_error)
{
	char *text = malloc(LAYOUT_MAX_FILE_BYTES + 1);
	ssize_t length;
	int r;

	if (!text)
		return error_text(ret_error, -ENOMEM, "layout %s: out of memory", path);
	length = read_file(path, text, LAYOUT_MAX_FILE_BYTES + 1);
	if (length == -ENOENT)
		r = error_text(
			ret_error, -ENOENT,
			"layout %s does not exist; make it with: vread-provision --output %s IMAGE",
			path, path);
	else if (length < 0)
		r = error_text(ret_error, (int)length, "layout %s: %s", path,
			       strerror((int)-length));
	else if (length > (ssize_t)LAYOUT_MAX_FILE_BYTES)
		r = error_text(ret_error, -EFBIG, "layout %s is longer than %u bytes: not a layout",
			       path, LAYOUT_MAX_FILE_BYTES);
	else
		r = layout_parse(text, (size_t)length, path, ret, ret_error);
	free(text);
	return r;
}

void layout_data_dir_clear(struct layout_data_dir *d)
{
	for (unsigned i = 0; i < d->num_pools; i++)
		free(d->pools[i]);
	free(d->pools);
	free(d->namespaces);
	free(d->path);
	free(d->storage_id);
	free(d->datanode_uuid);
	free(d->cluster_id);
	*d = (struct layout_data_dir){0};
}

void layout_filesystem_clear(struct layout_filesystem *fs)
{
	for (unsigned i = 0; i < fs->num_data_dirs; i++)
		layout_data_dir_clear(&fs->data_dirs[i]);
	for (unsigned i = 0; i < fs->num_segments; i++)
		free(fs->segments[i].stripes);
	layout_guards_clear(&fs->guards);
	free(fs->segments);
	free(fs->volume);
	free(fs->data_dirs);
	free(fs->type);
	free(fs->uuid);
	*fs = (struct layout_filesystem){0};
}

void layout_free(struct image_layout *layout)
{
	if (!layout)
		return;
	for (unsigned i = 0; i < layout->num_filesystems; i++)
		layout_filesystem_clear(&layout->filesystems[i]);
	free(layout->filesystems);
	free(layout->image_sizes);
	free(layout);
}

static json_t *data_dir_to_json(const struct layout_data_dir *d)
{
	json_t *pools = json_array(), *namespaces = d->namespaces ? json_array() : NULL;

	for (unsigned i = 0; i < d->num_pools; i++) {
		json_array_append_new(pools, json_string(d->pools[i]));
		if (namespaces)
			json_array_append_new(namespaces, json_integer(d->namespaces[i]));
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o*}", "path", d->path, "storage-id",
			 d->storage_id, "datanode-uuid", d->datanode_uuid, "cluster-id",
			 d->cluster_id, "pools", pools, "namespace-ids", namespaces);
}

static json_t *segment_to_json(const struct layout_segment *segment)
{
	json_t *stripes = json_array(), *json = json_object();

	for (unsigned i = 0; i < segment->num_stripes; i++)
		json_array_append_new(stripes, json_pack("{s:i, s:I}", "image",
							 (int)segment->stripes[i].image, "offset",
							 (json_int_t)segment->stripes[i].offset));
	json_object_set_new(json, "length", json_integer((json_int_t)segment->length));
	if (segment->num_stripes > 1)
		json_object_set_new(json, "stripe-size",
				    json_integer((json_int_t)segment->stripe_size));
	json_object_set_new(json, "stripes", stripes);
	return json;
}

static json_t *place_to_json(const struct layout_filesystem *fs)
{
	char name[LAYOUT_MAX_VOLUME_NAME];
	json_t *segments;

	if (fs->table != LAYOUT_LVM)
		return json_pack("{s:i, s:s, s:I, s:I}", "image", (int)fs->image, "partition",
				 layout_volume_name(fs, name), "offset", (json_int_t)fs->offset,
				 "length", (json_int_t)fs->length);
	segments = json_array();
	for (unsigned i = 0; i < fs->num_segments; i++)
		json_array_append_new(segments, segment_to_json(&fs->segments[i]));
	return json_pack("{s:s, s:o}", "volume", fs->volume, "segments", segments);
}

static json_t *filesystem_to_json(const struct layout_filesystem *fs)
{
	json_t *dirs = json_array(), *json = place_to_json(fs);

	for (unsigned i = 0; i < fs->num_data_dirs; i++)
		json_array_append_new(dirs, data_dir_to_json(&fs->data_dirs[i]));
	json_object_set_new(json, "type", json_string(fs->type));
	json_object_set_new(json, "uuid", json_string(fs->uuid));
	json_object_set_new(json, "data-dirs", dirs);
	return json;
}

json_t *layout_to_json(const struct image_layout *layout)
{
	json_t *images = json_array(), *filesystems = json_array();

	for (unsigned i = 0; i < layout->num_images; i++)
		json_array_append_new(images, json_pack("{s:I}", "size",
							(json_int_t)layout->image_sizes[i]));
	for (unsigned i = 0; i < layout->num_filesystems; i++)
		json_array_append_new(filesystems, filesystem_to_json(&layout->filesystems[i]));
	return json_pack("{s:i, s:o, s:o}", "layout-version", LAYOUT_VERSION, "images", images,
			 "filesystems", filesystems);
}
