// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens a datanode's images, starts their parser and makes a `served` of what it finds.
 * refresh.c and registry.c call it; load.h describes the functions.
 */
#include "datanode/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "datanode/usage.h"
#include "base/error.h"
#include "base/shortage.h"
#include "layout/place.h"

static struct served *served_new(struct datanode *dn)
{
	struct served *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	atomic_init(&v->references, 1);
	v->datanode = datanode_get(dn);
	return v;
}

static int out_of_memory(const struct datanode *dn, char **ret_error)
{
	return error_text(ret_error, -ENOMEM, "image %s: out of memory", dn->images[0]);
}

/* Adds one file system. An unreadable one is an error now, with a reason, instead of at the
 * first read. A refused one is added: it may become readable when its owner runs fsck or
 * unmounts it. */
static int add_filesystem(struct served *v, unsigned i, const struct parser_states *states,
			  char **ret_error)
{
	const struct layout_filesystem *lfs = &v->layout->filesystems[i];
	enum fs_state state = states->state[i];
	const char *reason = states->reason[i];
	const char *path = image_path(v->images[lfs->image]);
	char place[LAYOUT_MAX_PLACE];
	int r = layout_volume(v->images, lfs, &v->volumes[i]);

	if (r < 0)
		reason = r == -ENOMEM ? "out of memory" : "it lies outside its image";
	else if (state == FS_UNREADABLE)
		r = -EIO;
	v->fs[i] = (struct parser_fs){v->parser, i, v->volumes[i]};
	if (r < 0)
		return error_text(ret_error, r,
				  "image %s, %s: the %s file system cannot be read: %s", path,
				  layout_place(lfs, place), lfs->type, reason);
	if (state == FS_REFUSED)
		log_datanode(LOG_LEVEL_INFO, v->datanode->name,
			     "image %s, %s: %s; reads are refused until that changes", path,
			     layout_place(lfs, place), reason);
	return 0;
}

static int add_filesystems(struct served *v, const struct parser_states *states, char **ret_error)
{
	int r = 0;

	v->volumes = calloc(v->layout->num_filesystems + 1, sizeof(*v->volumes));
	v->fs = calloc(v->layout->num_filesystems + 1, sizeof(*v->fs));
	if (!v->volumes || !v->fs)
		return out_of_memory(v->datanode, ret_error);
	for (unsigned i = 0; i < v->layout->num_filesystems && r == 0; i++)
		r = add_filesystem(v, i, states, ret_error);
	return r;
}

static int start_parser(struct served *v, char **ret_error)
{
	const struct datanode *dn = v->datanode;
	int r = parser_new(dn->name, v->images, dn->num_images, NULL, &v->parser);

	if (r < 0)
		return error_text(ret_error, -ENOMEM, "image %s: cannot start a parser: %s",
				  dn->images[0], strerror(-r));
	return 0;
}

/* Takes over both texts; either may be NULL. */
static char *join_sentences(char *a, char *b)
{
	char *both = NULL;

	if (!a || !b)
		return a ? a : b;
	error_text(&both, 0, "%s. %s", a, b);
	free(a);
	free(b);
	return both;
}

/* Opens the images that can be opened. `*ret_error` says what is wrong with the others. Returns
 * negative errno if no image can be opened, or on a shortage. */
static int open_some_images(struct served *v, char **ret_error)
{
	struct datanode *dn = v->datanode;
	const struct image_folders folders = {(const char *const *)dn->folders, dn->num_folders};
	unsigned opened = 0;
	int last = 0;

	usage_update(dn);
	v->images = calloc(dn->num_images, sizeof(*v->images));
	if (!v->images)
		return out_of_memory(dn, ret_error);
	for (unsigned i = 0; i < dn->num_images && !is_shortage(last); i++) {
		char *error = NULL;
		int r = image_open_within(dn->images[i], usage_mode(dn, i), &folders, &v->images[i],
					  &error);

		if (r == 0)
			opened++;
		else
			last = r;
		*ret_error = join_sentences(*ret_error, error);
	}
	return opened && !is_shortage(last) ? 0 : last;
}

/* A layout refers to images by number, so their count must be the same. */
static int check_count(const struct served *v, char **ret_error)
{
	const struct datanode *dn = v->datanode;

	if (v->layout->num_images == dn->num_images)
		return 0;
	return error_text(ret_error, -ESTALE,
			  "layout %s is for %u images, but the configuration names %u; run "
			  "vread-provision again",
			  dn->layout_path, v->layout->num_images, dn->num_images);
}

/* While a long question is asked, the datanode may be removed, and then nobody needs the answer. */
static void begin_question(struct served *v)
{
	struct datanode *dn = v->datanode;

	pthread_mutex_lock(&dn->lock);
	dn->looking = v->parser;
	if (dn->removed)
		parser_abandon(v->parser);
	pthread_mutex_unlock(&dn->lock);
}

static void end_question(struct served *v)
{
	v->datanode->cpu = parser_cpu_ms(v->parser);
	pthread_mutex_lock(&v->datanode->lock);
	v->datanode->looking = NULL;
	pthread_mutex_unlock(&v->datanode->lock);
}

static int use_layout(struct served *v, struct parser_states *states, char **ret_error)
{
	int r;

	begin_question(v);
	r = parser_use(v->parser, v->layout, v->datanode->layout_path, states, ret_error);
	end_question(v);
	return r;
}

static int discover(struct served *v, struct parser_states *states, char **ret_missing)
{
	const struct datanode *dn = v->datanode;
	int r;

	begin_question(v);
	r = parser_discover(v->parser, (const char *const *)dn->data_dirs, dn->num_data_dirs,
			    &v->layout, states, ret_missing);
	end_question(v);
	return r;
}

int load_by_layout(struct datanode *dn, struct served **ret, char **ret_error)
{
	struct served *v = served_new(dn);
	struct parser_states states = {0};
	char *missing = NULL;
	int r;

	*ret_error = NULL;
	if (!v)
		return out_of_memory(dn, ret_error);
	r = open_some_images(v, &missing);
	if (r == 0)
		r = layout_load(dn->layout_path, &v->layout, ret_error);
	if (r == 0)
		r = check_count(v, ret_error);
	if (r == 0)
		layout_only_on(v->layout, v->images);
	if (r == 0)
		r = start_parser(v, ret_error);
	if (r == 0)
		r = use_layout(v, &states, ret_error);
	if (r == 0)
		r = add_filesystems(v, &states, ret_error);
	parser_states_clear(&states);
	if (r < 0) {
		*ret_error = join_sentences(missing, *ret_error);
		served_put(v);
		return r;
	}
	v->missing = missing;
	*ret = v;
	return 0;
}

/* Makes a `served` without file systems, because of the error. Takes over `reason`. */
static struct served *serve_nothing(struct datanode *dn, int error, char *reason)
{
	struct served *v = served_new(dn);

	if (v)
		v->layout = calloc(1, sizeof(*v->layout));
	if (v && v->layout && reason) {
		v->missing = reason;
		v->unknown = is_shortage(error);
		return v;
	}
	free(reason);
	served_put(v);
	return NULL;
}

static int look_into_images(struct served *v, char **ret_error)
{
	struct parser_states states = {0};
	char *unopened = NULL, *missing = NULL;
	int r = open_some_images(v, &unopened);

	if (r == 0)
		r = start_parser(v, &missing);
	if (r == 0)
		r = discover(v, &states, &missing);
	missing = join_sentences(unopened, missing);
	if (r < 0) {
		*ret_error = missing;
		return r;
	}
	v->missing = missing;
	r = add_filesystems(v, &states, ret_error);
	parser_states_clear(&states);
	return r;
}

struct served *load_nothing(struct datanode *dn, const char *reason)
{
	struct served *v = serve_nothing(dn, 0, strdup(reason));

	if (v)
		v->unknown = true;
	return v;
}

struct served *load_by_data_dirs(struct datanode *dn)
{
	struct served *v = served_new(dn);
	char *error = NULL;
	int r = v ? look_into_images(v, &error) : 0;

	if (r == 0)
		return v;
	served_put(v);
	return serve_nothing(dn, r, error);
}

struct served *load_by_layout_again(struct datanode *dn)
{
	struct served *v = NULL;
	char *error;
	int r = load_by_layout(dn, &v, &error);

	return r == 0 ? v : serve_nothing(dn, r, error);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* True if both are the same files and read in the same way. NULL is an image that cannot be
 * used. */
static bool same_image(struct image *a, struct image *b)
{
	if (!a || !b)
		return a == b;
	return image_is_same(a, b) && image_is_direct(a) == image_is_direct(b);
}

/* Both are of the same datanode. */
static bool same_images(const struct served *a, const struct served *b)
{
	if (!a->images || !b->images)
		return a->images == b->images;
	for (unsigned i = 0; i < a->datanode->num_images; i++)
		if (!same_image(a->images[i], b->images[i]))
			return false;
	return true;
}

static bool same_guards(const struct image_layout *a, const struct image_layout *b)
{
	for (unsigned i = 0; i < a->num_filesystems; i++)
		if (!layout_guards_equal(&a->filesystems[i].guards, &b->filesystems[i].guards))
			return false;
	return true;
}

bool served_equal(const struct served *a, const struct served *b)
{
	json_t *x = layout_to_json(a->layout), *y = layout_to_json(b->layout);
	bool equal = x && y && json_equal(x, y) && same_guards(a->layout, b->layout) &&
		     same_images(a, b) && same_text(a->missing, b->missing) &&
		     (a->refused == b->refused || json_equal(a->refused, b->refused));

	json_decref(x);
	json_decref(y);
	return equal;
}
