// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening an image and the file systems in it; see load.h. */
#include "block/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "image/discover.h"
#include "image/error.h"
#include "image/partition.h"

static struct served *served_new(struct store_datanode *dn)
{
	struct served *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	atomic_init(&v->references, 1);
	v->datanode = dn;
	return v;
}

/* Better told now, with a reason, than at a read.  One that is refused may be read later: its
 * owner's fsck or unmounting changes that. */
static int add_filesystem(struct served *v, unsigned i, char **ret_error)
{
	const struct layout_filesystem *lfs = &v->layout->filesystems[i];
	enum fs_state state = FS_UNREADABLE;
	const char *reason = "out of memory";
	char partition[16];
	int r = fs_new(v->source, lfs->offset, lfs->length, lfs->type, lfs->uuid, &v->fs[i]);

	if (r == 0) {
		state = fs_state(v->fs[i], &reason);
		r = state == FS_UNREADABLE ? -EIO : 0;
	}
	if (r < 0)
		return error_text(ret_error, r,
				  "image %s, partition %s: the %s file system cannot be read: %s",
				  image_source_path(v->source),
				  layout_partition_name(lfs, partition), lfs->type, reason);
	if (state == FS_REFUSED)
		log_info("datanode %s: image %s, partition %s: %s; reads are refused while that "
			 "is so",
			 v->datanode->name, image_source_path(v->source),
			 layout_partition_name(lfs, partition), reason);
	return 0;
}

static int add_filesystems(struct served *v, char **ret_error)
{
	int r = 0;

	v->fs = calloc(v->layout->num_filesystems + 1, sizeof(*v->fs));
	if (!v->fs)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory",
				  v->datanode->image_path);
	for (unsigned i = 0; i < v->layout->num_filesystems && r == 0; i++)
		r = add_filesystem(v, i, ret_error);
	return r;
}

int load_by_layout(struct store_datanode *dn, struct served **ret, char **ret_error)
{
	struct served *v = served_new(dn);
	int r;

	if (!v)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", dn->image_path);
	r = image_source_open(dn->image_path, IMAGE_AUTO, &v->source, ret_error);
	if (r == 0)
		r = layout_load(dn->layout_path, &v->layout, ret_error);
	if (r == 0)
		r = layout_check_fit(v->source, v->layout, dn->layout_path, ret_error);
	if (r == 0)
		r = add_filesystems(v, ret_error);
	if (r < 0) {
		served_put(v);
		return r;
	}
	*ret = v;
	return 0;
}

/* Takes over reason. */
static struct served *serve_nothing(struct store_datanode *dn, char *reason)
{
	struct served *v = served_new(dn);

	if (v)
		v->layout = calloc(1, sizeof(*v->layout));
	if (v && v->layout && reason) {
		v->missing = reason;
		return v;
	}
	free(reason);
	served_put(v);
	return NULL;
}

static int look_into_image(struct store_datanode *dn, struct served *v, char **ret_error)
{
	int r = image_source_open(dn->image_path, IMAGE_AUTO, &v->source, ret_error);

	if (r == 0)
		r = discover(v->source, (const char *const *)dn->data_dirs, dn->num_data_dirs,
			     &v->layout, ret_error);
	if (r < 0)
		return r;
	v->missing = *ret_error;
	*ret_error = NULL;
	return add_filesystems(v, ret_error);
}

struct served *load_by_data_dirs(struct store_datanode *dn)
{
	struct served *v = served_new(dn);
	char *error = NULL;

	if (!v || look_into_image(dn, v, &error) == 0)
		return v;
	served_put(v);
	return serve_nothing(dn, error);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_image(struct image_source *a, struct image_source *b)
{
	struct image_identity x, y;

	if (!a || !b)
		return a == b;
	return image_source_identity(a, &x) == 0 && image_source_identity(b, &y) == 0 &&
	       x.dev == y.dev && x.ino == y.ino && image_source_size(a) == image_source_size(b);
}

bool served_equal(const struct served *a, const struct served *b)
{
	json_t *x = layout_to_json(a->layout), *y = layout_to_json(b->layout);
	bool equal = x && y && json_equal(x, y) && same_image(a->source, b->source) &&
		     same_text(a->missing, b->missing);

	json_decref(x);
	json_decref(y);
	return equal;
}
