/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - where the data directories of a datanode are on its disks.  vread-provision writes a
 * layout once, and vreadd reads it at every start; without a layout file vread-parser finds the
 * layout (parser/hdfs/discover.h).
 *
 * As JSON:
 *
 *   {"layout-version": 2,
 *    "images": [{"size": BYTES}],
 *    "filesystems": [
 *      {"image": 0, "partition": "gpt:2" | "mbr:1" | "none",
 *       "offset": BYTES, "length": BYTES, "type": "ext4", "uuid": UUID,
 *       "data-dirs": [
 *         {"path": "/dfs/data", "storage-id": "DS-...", "datanode-uuid": UUID,
 *          "cluster-id": "CID-...", "pools": ["BP-..."],
 *          "namespace-ids": [NUMBER]}]}]}
 *
 * namespace-ids may be missing.  It has a number for each pool; 0: not known.
 *
 * A file system on a logical volume of LVM has, instead of the first four members,
 *
 *       "volume": "GROUP/VOLUME",
 *       "segments": [
 *         {"length": BYTES, "stripe-size": BYTES (only with several stripes),
 *          "stripes": [{"image": 0, "offset": BYTES}]}]
 *
 * Images are numbered from 0, in the order in which the datanode's configuration names them.  Sizes
 * are those that the guest sees.  Paths are absolute within their file system.
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

/* Like struct volume_stripe, with the number of an image instead of the image. */
struct layout_stripe {
	unsigned image;
	uint64_t offset;
};

struct layout_segment {
	uint64_t length;
	uint64_t stripe_size; /* bytes; 0 if there is only one stripe */
	struct layout_stripe *stripes;
	unsigned num_stripes;
};

struct layout_data_dir {
	char *path;
	char *storage_id;
	char *datanode_uuid;
	char *cluster_id;
	char **pools;
	uint32_t *namespaces; /* of each pool, 0: not known; NULL: none is known */
	unsigned num_pools;
};

struct layout_filesystem {
	unsigned image; /* number of the image; LVM: of the image of the first stripe */
	enum layout_table table;
	unsigned partition;      /* number in the partition table; 0 without a table */
	uint64_t offset, length; /* bytes; LVM: offset has no meaning */
	char *volume;            /* LVM: "group/volume" */
	struct layout_segment *segments;
	unsigned num_segments;
	char *type; /* a type that parser/fs/fs.h can read */
	char *uuid;
	struct layout_data_dir *data_dirs;
	unsigned num_data_dirs;
	struct layout_guards guards; /* of the place, once a parser has found it; not in JSON */
};

struct image_layout {
	uint64_t *image_sizes; /* bytes */
	unsigned num_images;
	struct layout_filesystem *filesystems;
	unsigned num_filesystems;
};

/* Writes "gpt:2", "lvm:group/volume" or "none" to buf.  Returns buf. */
const char *layout_volume_name(const struct layout_filesystem *fs,
			       char buf[LAYOUT_MAX_VOLUME_NAME]);
/* Writes the place for use in a sentence: "partition gpt:2", "logical volume group/volume" or "the
 * whole disk".  Returns buf. */
const char *layout_place(const struct layout_filesystem *fs, char buf[LAYOUT_MAX_PLACE]);
/* True if both lie in the same place, and the partition or logical volume has the same name. */
bool layout_same_place(const struct layout_filesystem *a, const struct layout_filesystem *b);

/* True if no image that the file system lies on is NULL. */
bool layout_is_on(const struct layout_filesystem *fs, struct image *const *images);
/* Removes the file systems for which layout_is_on() is false. */
void layout_only_on(struct image_layout *layout, struct image *const *images);

/* Copies the segments of `from` to `to`, which has none.  Returns false when out of memory. */
bool layout_copy_segments(const struct layout_filesystem *from, struct layout_filesystem *to);

/* Parses text, which has length bytes and is called name in messages.  A pure function.  Returns 0,
 * or negative errno with *ret_error (free() it) naming the place, the value and what was
 * expected. */
int layout_parse(const char *text, size_t length, const char *name, struct image_layout **ret,
		 char **ret_error);
/* Parses the file at path.  Returns as layout_parse() does. */
int layout_load(const char *path, struct image_layout **ret, char **ret_error);
void layout_free(struct image_layout *layout); /* NULL is ignored */
/* Free everything that *fs, or *d, owns, but not the struct itself. */
void layout_filesystem_clear(struct layout_filesystem *fs);
void layout_data_dir_clear(struct layout_data_dir *d);

/* Values that a layout may hold.  A path is absolute without "..".  A pool's id is also the name of
 * a directory, so the id does not begin with '.' and has no '/'. */
bool layout_path_valid(const char *text);
bool layout_pool_valid(const char *text);
bool layout_storage_id_valid(const char *text);
/* Of a datanode or a cluster: what HDFS accepts, "" and blanks included. */
bool layout_id_valid(const char *text);
bool layout_lv_name_valid(const char *text);
/* True if a parser can read file systems of this type. */
bool layout_type_valid(const char *text);
/* Returns "ext2, ext3, ext4 or xfs", for messages. */
const char *layout_type_names(void);

/* Returns a new reference, or NULL when out of memory. */
json_t *layout_to_json(const struct image_layout *layout);

#endif
