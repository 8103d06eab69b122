// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A layout's life in memory: loading its file, freeing, and writing it as JSON.
 * The parser is in layout_parse.c.
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

const char *layout_partition_name(const struct layout_filesystem *fs, char *buf)
{
	if (fs->table == LAYOUT_NONE)
		return strcpy(buf, "none");
	snprintf(buf, 16, "%s:%u", fs->table == LAYOUT_GPT ? "gpt" : "mbr", fs->partition % 10000);
	return buf;
}

/* Length read, or negative errno; more than size bytes do not fit. */
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
	json_t *pools = json_array();

	for (unsigned i = 0; i < d->num_pools; i++)
		json_array_append_new(pools, json_string(d->pools[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "path", d->path, "storage-id", d->storage_id,
			 "datanode-uuid", d->datanode_uuid, "cluster-id", d->cluster_id, "pools",
			 pools);
}

static json_t *filesystem_to_json(const struct layout_filesystem *fs)
{
	json_t *dirs = json_array();
	char partition[16];

	for (unsigned i = 0; i < fs->num_data_dirs; i++)
		json_array_append_new(dirs, data_dir_to_json(&fs->data_dirs[i]));
	return json_pack("{s:i, s:s, s:I, s:I, s:s, s:s, s:o}", "image", (int)fs->image,
			 "partition", layout_partition_name(fs, partition), "offset",
			 (json_int_t)fs->offset, "length", (json_int_t)fs->length, "type", fs->type,
			 "uuid", fs->uuid, "data-dirs", dirs);
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
