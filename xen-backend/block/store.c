// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registry of datanodes and their images; see store.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/internal.h"
#include "image/error.h"
#include "image/partition.h"

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

static void clear_datanode(struct store_datanode *dn)
{
	for (unsigned i = 0; dn->fs && i < dn->layout->num_filesystems; i++)
		fs_free(dn->fs[i]);
	free(dn->fs);
	layout_free(dn->layout);
	image_source_close(dn->source);
	published_free(dn->published);
	free(dn->layout_path);
	free(dn->name);
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	replica_cache_free(s->cache);
	for (unsigned i = 0; i < s->num_datanodes; i++)
		clear_datanode(&s->datanodes[i]);
	free(s->datanodes);
	free(s);
}

/* What may be done with the file system right now; as fs_stamp_take(). */
static int check_filesystem(struct fs *fs)
{
	struct fs_stamp now;

	return fs_stamp_take(fs, &now);
}

/* Opens the file system once: better refused now, with a reason, than at a read. */
static int add_filesystem(struct store_datanode *dn, unsigned i, char **ret_error)
{
	const struct layout_filesystem *lfs = &dn->layout->filesystems[i];
	const char *reason = "out of memory";
	char partition[16];
	struct fs_view *view = NULL;
	int r = fs_new(dn->source, lfs->offset, lfs->length, lfs->type, lfs->uuid, &dn->fs[i]);

	if (r == 0)
		r = fs_view_open(dn->fs[i], &view, &reason);
	fs_view_close(view);
	if (r < 0)
		return error_text(ret_error, r,
				  "image %s, partition %s: the %s file system cannot be read: %s",
				  image_source_path(dn->source),
				  layout_partition_name(lfs, partition), lfs->type, reason);
	if (check_filesystem(dn->fs[i]) == -EBUSY)
		log_info("datanode %s: image %s, partition %s: in use (mounted for writing, or not "
			 "cleanly unmounted); reads are refused while it is",
			 dn->name, image_source_path(dn->source),
			 layout_partition_name(lfs, partition));
	return 0;
}

static int load_datanode(struct store_datanode *dn, const char *image_path, char **ret_error)
{
	int r = image_source_open(image_path, IMAGE_AUTO, &dn->source, ret_error);

	if (r == 0)
		r = layout_load(dn->layout_path, &dn->layout, ret_error);
	if (r == 0)
		r = layout_check_fit(dn->source, dn->layout, dn->layout_path, ret_error);
	if (r < 0)
		return r;
	dn->fs = calloc(dn->layout->num_filesystems + 1, sizeof(*dn->fs));
	if (!dn->fs)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", image_path);
	for (unsigned i = 0; i < dn->layout->num_filesystems && r == 0; i++)
		r = add_filesystem(dn, i, ret_error);
	return r;
}

static bool is_served(const struct block_store *s, const char *datanode)
{
	for (unsigned i = 0; i < s->num_datanodes; i++)
		if (!strcmp(s->datanodes[i].name, datanode))
			return true;
	return false;
}

int block_store_add(struct block_store *s, const char *datanode, const char *image_path,
		    const char *layout_path, char **ret_error)
{
	struct store_datanode dn = {0}, *grown;
	int r;

	*ret_error = NULL;
	if (is_served(s, datanode))
		return error_text(ret_error, -EEXIST, "datanode %s is named twice", datanode);
	grown = reallocarray(s->datanodes, s->num_datanodes + 1, sizeof(*grown));
	if (grown)
		s->datanodes = grown;
	dn.name = strdup(datanode);
	dn.layout_path = strdup(layout_path);
	dn.published = published_new();
	if (!grown || !dn.name || !dn.layout_path || !dn.published)
		r = error_text(ret_error, -ENOMEM, "datanode %s: out of memory", datanode);
	else
		r = load_datanode(&dn, image_path, ret_error);
	if (r < 0) {
		clear_datanode(&dn);
		return r;
	}
	s->datanodes[s->num_datanodes++] = dn;
	return 0;
}

static bool has_storage(const struct store_datanode *dn, const char *storage_id)
{
	for (unsigned i = 0; i < dn->layout->num_filesystems; i++) {
		const struct layout_filesystem *fs = &dn->layout->filesystems[i];

		for (unsigned k = 0; k < fs->num_data_dirs; k++)
			if (!strcmp(fs->data_dirs[k].storage_id, storage_id))
				return true;
	}
	return false;
}

struct store_datanode *block_store_find_storage(struct block_store *s, const char *storage_id,
						const struct store_datanode *after)
{
	size_t i = after ? (size_t)(after - s->datanodes) + 1 : 0;

	while (i < s->num_datanodes && !has_storage(&s->datanodes[i], storage_id))
		i++;
	return i < s->num_datanodes ? &s->datanodes[i] : NULL;
}

static const char *state_name(int error)
{
	switch (error) {
	case 0:
		return "clean";
	case -EBUSY:
		return "in use";
	default:
		return "unreadable";
	}
}

/* In the layout's own form, with their states. */
static json_t *filesystems_status(const struct store_datanode *dn)
{
	json_t *layout = layout_to_json(dn->layout);
	json_t *array = json_incref(json_object_get(layout, "filesystems"));

	for (unsigned i = 0; i < dn->layout->num_filesystems; i++)
		json_object_set_new(json_array_get(array, i), "state",
				    json_string(state_name(check_filesystem(dn->fs[i]))));
	json_decref(layout);
	return array;
}

json_t *block_store_status(struct block_store *s)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < s->num_datanodes; i++) {
		const struct store_datanode *dn = &s->datanodes[i];

		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:s, s:s, s:I, s:o?, s:o?}", "datanode",
						dn->name, "image", image_source_path(dn->source),
						"layout", dn->layout_path, "mode",
						image_source_is_direct(dn->source) ? "direct"
										   : "buffered",
						"size", (json_int_t)image_source_size(dn->source),
						"filesystems", filesystems_status(dn), "published",
						store_published_status(dn->published)));
	}
	return array;
}
