// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening images and the file systems on them; see load.h. */
#include "block/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/error.h"
#include "layout/place.h"

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
static int add_filesystem(struct served *v, unsigned i, const struct parser_states *states,
			  char **ret_error)
{
	const struct layout_filesystem *lfs = &v->layout->filesystems[i];
	enum fs_state state = states->state[i];
	const char *reason = states->reason[i];
	const char *path = image_path(v->images[lfs->image]);
	char partition[16];
	int r = layout_volume(v->images, lfs, &v->volumes[i]);

	if (r < 0)
		reason = r == -ENOMEM ? "out of memory" : "it is not inside its image";
	else if (state == FS_UNREADABLE)
		r = -EIO;
	v->fs[i] = (struct parser_fs){v->parser, i, v->volumes[i]};
	if (r < 0)
		return error_text(ret_error, r,
				  "image %s, partition %s: the %s file system cannot be read: %s",
				  path, layout_partition_name(lfs, partition), lfs->type, reason);
	if (state == FS_REFUSED)
		log_info("datanode %s: image %s, partition %s: %s; reads are refused while that "
			 "is so",
			 v->datanode->name, path, layout_partition_name(lfs, partition), reason);
	return 0;
}

static int add_filesystems(struct served *v, const struct parser_states *states, char **ret_error)
{
	int r = 0;

	v->volumes = calloc(v->layout->num_filesystems + 1, sizeof(*v->volumes));
	v->fs = calloc(v->layout->num_filesystems + 1, sizeof(*v->fs));
	if (!v->volumes || !v->fs)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory",
				  v->datanode->images[0]);
	for (unsigned i = 0; i < v->layout->num_filesystems && r == 0; i++)
		r = add_filesystem(v, i, states, ret_error);
	return r;
}

static int open_images(struct served *v, char **ret_error)
{
	const struct store_datanode *dn = v->datanode;
	int r = 0;

	v->images = calloc(dn->num_images, sizeof(*v->images));
	if (!v->images)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", dn->images[0]);
	for (unsigned i = 0; i < dn->num_images && r == 0; i++)
		r = image_open(dn->images[i], SOURCE_AUTO, &v->images[i], ret_error);
	if (r == 0) {
		r = parser_new(dn->name, v->images, dn->num_images, NULL, &v->parser);
		if (r < 0)
			error_text(ret_error, r, "cannot start a parser: %s", strerror(-r));
	}
	return r;
}

int load_by_layout(struct store_datanode *dn, struct served **ret, char **ret_error)
{
	struct served *v = served_new(dn);
	struct parser_states states = {0};
	int r;

	if (!v)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", dn->images[0]);
	r = open_images(v, ret_error);
	if (r == 0)
		r = layout_load(dn->layout_path, &v->layout, ret_error);
	if (r == 0)
		r = parser_use(v->parser, v->layout, dn->layout_path, &states, ret_error);
	if (r == 0)
		r = add_filesystems(v, &states, ret_error);
	parser_states_clear(&states);
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

static int look_into_images(struct store_datanode *dn, struct served *v, char **ret_error)
{
	struct parser_states states = {0};
	int r = open_images(v, ret_error);

	if (r == 0)
		r = parser_discover(v->parser, (const char *const *)dn->data_dirs,
				    dn->num_data_dirs, &v->layout, &states, ret_error);
	if (r == 0) {
		v->missing = *ret_error;
		*ret_error = NULL;
		r = add_filesystems(v, &states, ret_error);
	}
	parser_states_clear(&states);
	return r;
}

struct served *load_by_data_dirs(struct store_datanode *dn)
{
	struct served *v = served_new(dn);
	char *error = NULL;

	if (!v || look_into_images(dn, v, &error) == 0)
		return v;
	served_put(v);
	return serve_nothing(dn, error);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Of the same datanode. */
static bool same_images(const struct served *a, const struct served *b)
{
	if (!a->images || !b->images)
		return a->images == b->images;
	for (unsigned i = 0; i < a->datanode->num_images; i++)
		if (!image_is_same(a->images[i], b->images[i]))
			return false;
	return true;
}

bool served_equal(const struct served *a, const struct served *b)
{
	json_t *x = layout_to_json(a->layout), *y = layout_to_json(b->layout);
	bool equal = x && y && json_equal(x, y) && same_images(a, b) &&
		     same_text(a->missing, b->missing);

	json_decref(x);
	json_decref(y);
	return equal;
}
