/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - where on a datanode's disks its data directories are.
 *
 * vread-provision finds it out once and writes it, and vreadd reads it at every
 * start; or vreadd finds it out itself (discover.h).  As JSON:
 *
 *   {"layout-version": 2,
 *    "images": [{"size": BYTES}],
 *    "filesystems": [
 *      {"image": 0, "partition": "gpt:2" | "mbr:1" | "none",
 *       "offset": BYTES, "length": BYTES, "type": "ext4", "uuid": UUID,
 *       "data-dirs": [
 *         {"path": "/dfs/data", "storage-id": "DS-...", "datanode-uuid": UUID,
 *          "cluster-id": "CID-...", "pools": ["BP-..."]}]}]}
 *
 * On a logical volume of LVM a file system has, instead of the first four,
 *
 *       "volume": "GROUP/VOLUME",
 *       "segments": [
 *         {"length": BYTES, "stripe-size": BYTES (of several stripes only),
 *          "stripes": [{"image": 0, "offset": BYTES}]}]
 *
 * Images are numbered from 0 in the order the datanode's configuration names them; sizes
 * are what the guest sees.  Paths are absolute inside their file system.
 */
#ifndef VREAD_LAYOUT_H
#define VREAD_LAYOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/guards.h"

#define LAYOUT_VERSION 2
#define LAYOUT_MAX_FILE_BYTES (4U << 20)
#define LAYOUT_MAX_IMAGES 64U
#define LAYOUT_MAX_FILESYSTEMS 64U
#define LAYOUT_MAX_DATA_DIRS 64U /* per file system */
#define LAYOUT_MAX_POOLS 64U     /* per data directory */
#define LAYOUT_MAX_PATH 1024U
#define LAYOUT_MAX_LV_NAME 256U    /* "group/volume", with its NUL */
#define LAYOUT_MAX_VOLUME_NAME 264 /* "lvm:group/volume", with its NUL */
#define LAYOUT_MAX_PLACE 288       /* "logical volume group/volume", with its NUL */

enum layout_table { LAYOUT_NONE, LAYOUT_GPT, LAYOUT_MBR, LAYOUT_LVM };

/* As in volume.h, with an image's number in its place. */
struct layout_stripe {
	unsigned image;
	uint64_t offset;
};

struct layout_segment {
	uint64_t length;
	uint64_t stripe_size; /* 0 if there is one stripe only */
	struct layout_stripe *stripes;
	unsigned num_stripes;
};

struct layout_data_dir {
	char *path;
	char *storage_id;
	char *datanode_uuid;
	char *cluster_id;
	char **pools;
	unsigned num_pools;
};

struct layout_filesystem {
	unsigned image; /* the number of the image it lies on; of LVM, begins on */
	enum layout_table table;
	unsigned partition;      /* number in the table; 0 without one */
	uint64_t offset, length; /* of LVM, offset is without meaning */
	char *volume;            /* of LVM: "group/volume" */
	struct layout_segment *segments;
	unsigned num_segments;
	char *type; /* one fs.h has a reader for */
	char *uuid;
	struct layout_data_dir *data_dirs;
	unsigned num_data_dirs;
	struct layout_guards guards; /* of its place; only where that was found, not in JSON */
};

struct image_layout {
	uint64_t *image_sizes; /* bytes */
	unsigned num_images;
	struct layout_filesystem *filesystems;
	unsigned num_filesystems;
};

/* "gpt:2", "lvm:group/volume" or "none".  Returns buf. */
const char *layout_volume_name(const struct layout_filesystem *fs,
			       char buf[LAYOUT_MAX_VOLUME_NAME]);
/* The same in a sentence: "partition gpt:2", "logical volume group/volume" or "the whole disk". */
const char *layout_place(const struct layout_filesystem *fs, char buf[LAYOUT_MAX_PLACE]);
/* Whether both lie in the same place, called the same. */
bool layout_same_place(const struct layout_filesystem *a, const struct layout_filesystem *b);

/* Whether all of it lies on images that are not NULL. */
bool layout_is_on(const struct layout_filesystem *fs, struct image *const *images);
/* Leaves out file systems that do not. */
void layout_only_on(struct image_layout *layout, struct image *const *images);

/* Copies one's segments to another that has none; false: out of memory. */
bool layout_copy_segments(const struct layout_filesystem *from, struct layout_filesystem *to);

/* Pure: text of length bytes, called name in messages.  0, or negative errno with
 * *ret_error (free() it) naming the place, the value and what was expected. */
int layout_parse(const char *text, size_t length, const char *name, struct image_layout **ret,
		 char **ret_error);
int layout_load(const char *path, struct image_layout **ret, char **ret_error);
void layout_free(struct image_layout *layout); /* NULL is ignored */
/* Free what they own. */
void layout_filesystem_clear(struct layout_filesystem *fs);
void layout_data_dir_clear(struct layout_data_dir *d);

/* What a layout may hold.  A path is absolute without ".."; a pool's id is also the name
 * of its directory, so it is no "..", and has no '/'. */
bool layout_path_valid(const char *text);
bool layout_pool_valid(const char *text);
bool layout_storage_id_valid(const char *text);
bool layout_id_valid(const char *text); /* of a datanode or a cluster */
bool layout_lv_name_valid(const char *text);
/* Of a file system: one that a parser reads. */
bool layout_type_valid(const char *text);
/* "ext2, ext3, ext4 or xfs": for messages. */
const char *layout_type_names(void);

/* New reference, or NULL when out of memory. */
json_t *layout_to_json(const struct image_layout *layout);

#endif
