// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Searches all volumes of a datanode's images for its data directories. Of volumes that share bytes
 * because a disk can be read in several ways, those with data directories count; if two of them
 * have some, the one whose owner has it mounted.
 */
#include "parser/hdfs/discover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/data_dir.h"
#include "base/error.h"
#include "parser/fs/fs.h"
#include "parser/disks/overlap.h"
#include "parser/disks/partition.h"
#include "parser/disks/tables.h"
#include "layout/place.h"
#include "parser/disks/volumes.h"

/* Most bytes of the note about one directory. The note about a disk with a hundred partitions is
 * cut. */
#define MAX_NOTE 1024U

/* One of the wanted directories, and a note about what was found where it was not. */
struct wanted {
	const char *path;
	bool found;
	bool explained; /* the note says more than that the directory is not there */
	char note[MAX_NOTE];
};

/* What is known of a file system of the layout besides. */
struct holder {
	uint64_t holds; /* bit i: wanted[i] */
	bool in_use;
	bool dropped;
};

struct search {
	struct image *const *images;
	unsigned num_images;
	struct wanted *wanted;
	unsigned num_wanted;
	struct volumes volumes;
	struct image_layout *layout;
	struct holder holders[LAYOUT_MAX_FILESYSTEMS];
};
_Static_assert(LAYOUT_MAX_DATA_DIRS <= 64, "struct holder has a bit for each");

__attribute__((format(printf, 2, 3))) static void add_note(struct wanted *w, const char *format,
							   ...)
{
	size_t used = strlen(w->note);
	va_list ap;

	if (used)
		used += (size_t)snprintf(w->note + used, sizeof(w->note) - used, "; ");
	if (used >= sizeof(w->note))
		return;
	va_start(ap, format);
	vsnprintf(w->note + used, sizeof(w->note) - used, format, ap);
	va_end(ap);
}

/* Adds a note about a volume. With several images the note names the image. */
__attribute__((format(printf, 4, 5))) static void add_volume_note(const struct search *s,
								  struct wanted *w,
								  const struct found_volume *v,
								  const char *format, ...)
{
	bool names_image = s->num_images > 1 && v->at.table != LAYOUT_LVM;
	char what[DATA_DIR_MAX_REASON + 64], place[LAYOUT_MAX_PLACE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	add_note(w, "%s%s%s%s%s", layout_place(&v->at, place),
		 v->unit == TABLE_LARGE_UNIT ? " in sectors of 4096 bytes" : "",
		 names_image ? " of " : "", names_image ? image_path(s->images[v->at.image]) : "",
		 what);
}

/* Adds the same note to every directory: the volume holds none of them. `explains`: this may be
 * why a directory is not found. */
static void note_volume(struct search *s, const struct found_volume *v, bool explains,
			const char *what, const char *type)
{
	for (unsigned i = 0; i < s->num_wanted; i++) {
		add_volume_note(s, &s->wanted[i], v, " %s%s", what, type);
		s->wanted[i].explained |= explains;
	}
}

/* The answer of one file system about one directory. `error` is 0 for a data directory. */
struct answer {
	int error;
	char reason[DATA_DIR_MAX_REASON];
	struct layout_data_dir dir;
};

static void clear_answers(const struct search *s, struct answer *answers)
{
	for (unsigned i = 0; i < s->num_wanted; i++)
		layout_data_dir_clear(&answers[i].dir);
	memset(answers, 0, s->num_wanted * sizeof(*answers));
}

/* A path that is not there is often written as the guest sees it, behind its mount point.
 * Says so if the rest of the path is a data directory. */
static void hint_at_mount(struct fs *fs, struct fs_view *view, const char *path, struct answer *a)
{
	char reason[DATA_DIR_MAX_REASON];
	struct layout_data_dir dir;

	for (const char *rest = strchr(path + 1, '/'); rest; rest = strchr(rest + 1, '/')) {
		if (data_dir_read(fs, view, rest, &dir, reason) < 0)
			continue;
		layout_data_dir_clear(&dir);
		a->error = -EXDEV;
		snprintf(a->reason, sizeof(a->reason),
			 "there is no %s, but a data directory %s; if the guest mounts this file "
			 "system on %.*s, name it %s here",
			 path, rest, (int)(rest - path), path, rest);
		return;
	}
}

/* Asks for all directories. Returns 0, or negative errno with `*ret_reason`. */
static int ask_once(const struct search *s, struct fs *fs, struct answer *answers,
		    const char **ret_reason)
{
	struct fs_view *view;
	int r = fs_view_open(fs, &view, ret_reason);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < s->num_wanted && r == 0; i++) {
		struct answer *a = &answers[i];

		a->error = data_dir_read(fs, view, s->wanted[i].path, &a->dir, a->reason);
		r = a->error == -ENOMEM ? -ENOMEM : 0;
		if (a->error == -ENOENT)
			hint_at_mount(fs, view, s->wanted[i].path, a);
	}
	if (r == 0)
		r = fs_view_confirm(view, NULL, NULL);
	fs_view_close(view);
	return r;
}

/* Repeats ask_once() until all answers are of one moment. */
static int ask(const struct search *s, struct fs *fs, struct answer *answers,
	       const char **ret_reason)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++) {
		clear_answers(s, answers);
		*ret_reason = "its owner is changing it";
		r = ask_once(s, fs, answers, ret_reason);
	}
	return r;
}

/* Two wanted paths may lead to one directory. */
static bool has_dir(const struct layout_filesystem *lfs, const char *path)
{
	for (unsigned i = 0; i < lfs->num_data_dirs; i++)
		if (!strcmp(lfs->data_dirs[i].path, path))
			return true;
	return false;
}

static int take_answers(struct search *s, struct found_volume *v, struct answer *answers,
			struct holder *holder)
{
	struct layout_filesystem *lfs = &v->at;

	lfs->data_dirs = calloc(s->num_wanted, sizeof(*lfs->data_dirs));
	if (!lfs->data_dirs)
		return -ENOMEM;
	for (unsigned i = 0; i < s->num_wanted; i++) {
		struct answer *a = &answers[i];

		if (a->error) {
			add_volume_note(s, &s->wanted[i], v, " (%s): %s", lfs->type, a->reason);
			s->wanted[i].explained |= a->error != -ENOENT;
			continue;
		}
		holder->holds |= UINT64_C(1) << i;
		if (has_dir(lfs, a->dir.path))
			continue;
		lfs->data_dirs[lfs->num_data_dirs++] = a->dir;
		a->dir = (struct layout_data_dir){0};
	}
	return 0;
}

static int search_filesystem(struct search *s, struct found_volume *v, struct holder *holder)
{
	struct answer *answers = calloc(s->num_wanted, sizeof(*answers));
	const char *reason = "its place or its UUID is invalid";
	struct volume *place = NULL;
	struct fs *fs = NULL;
	int r = answers ? layout_volume(s->images, &v->at, &place) : -ENOMEM;

	if (r == 0)
		r = fs_new(place, v->at.type, v->at.uuid, &fs);
	if (r == 0)
		r = ask(s, fs, answers, &reason);
	if (r == 0) {
		r = take_answers(s, v, answers, holder);
		holder->in_use = holder->holds && fs_state(fs, NULL) == FS_LIVE;
	} else if (r != -ENOMEM) {
		note_volume(s, v, true, "cannot be read: ", reason);
		r = 0;
	}
	if (answers)
		clear_answers(s, answers);
	free(answers);
	fs_free(fs);
	volume_free(place);
	return r;
}

/* Adds the note about a volume that is not searched. Returns false if the volume is to be
 * searched. */
static bool note_other(struct search *s, const struct found_volume *v)
{
	if (v->problem)
		note_volume(s, v, true, "cannot be read: ", v->problem);
	else if (v->group)
		note_volume(s, v, false, "belongs to volume group ", v->group);
	else if (!strcmp(v->at.type, VOLUMES_LVM_MEMBER))
		note_volume(s, v, true, "is a physical volume of an unknown volume group", "");
	else if (!v->at.type[0])
		note_volume(s, v, false, "is empty", "");
	else if (disk_type_remedy(v->at.type))
		note_volume(s, v, true, disk_type_remedy(v->at.type), "");
	else if (!layout_type_valid(v->at.type))
		note_volume(s, v, false, "has a type that vRead does not read: ", v->at.type);
	else
		return false;
	return true;
}

/* Moves the volume to the layout if it holds data directories. */
static int search_volume(struct search *s, struct found_volume *v)
{
	struct image_layout *l = s->layout;
	struct holder holder = {0};
	int r;

	if (note_other(s, v) || l->num_filesystems == LAYOUT_MAX_FILESYSTEMS)
		return 0;
	r = search_filesystem(s, v, &holder);
	if (r < 0 || !holder.holds)
		return r;
	s->holders[l->num_filesystems] = holder;
	l->filesystems[l->num_filesystems++] = v->at;
	v->at = (struct layout_filesystem){0};
	return 0;
}

/* ---- file systems that share bytes --------------------------------------------------- */

static void drop_both(struct search *s, unsigned a, unsigned b)
{
	const struct layout_filesystem *list = s->layout->filesystems;
	uint64_t either = s->holders[a].holds | s->holders[b].holds;
	char place[LAYOUT_MAX_PLACE], other[LAYOUT_MAX_PLACE];

	s->holders[a].dropped = s->holders[b].dropped = true;
	layout_place(&list[a], place);
	layout_place(&list[b], other);
	for (unsigned i = 0; i < s->num_wanted; i++) {
		if (!(either & UINT64_C(1) << i))
			continue;
		add_note(&s->wanted[i],
			 "%s (%s, UUID %s) and %s (%s, UUID %s) of %s share bytes and both have "
			 "data directories, so one of them is left over from an earlier use of the "
			 "disk: remove its signature in the guest (wipefs)",
			 place, list[a].type, list[a].uuid, other, list[b].type, list[b].uuid,
			 image_path(s->images[list[a].image]));
		s->wanted[i].explained = true;
	}
}

static int choose(void *ctx, unsigned a, unsigned b)
{
	struct search *s = ctx;
	struct holder *p = &s->holders[a], *q = &s->holders[b];

	if (p->in_use == q->in_use)
		drop_both(s, a, b);
	else
		(p->in_use ? q : p)->dropped = true;
	return 0;
}

/* Removes file systems that share bytes with another one. Sets which directories are found. */
static int choose_readings(struct search *s)
{
	struct overlap_volume list[LAYOUT_MAX_FILESYSTEMS] = {0};
	struct image_layout *l = s->layout;
	unsigned kept = 0;
	int r;

	for (unsigned i = 0; i < l->num_filesystems; i++)
		list[i].at = &l->filesystems[i];
	r = overlaps_find(list, l->num_filesystems, choose, s);
	for (unsigned i = 0; i < l->num_filesystems; i++) {
		if (s->holders[i].dropped) {
			layout_filesystem_clear(&l->filesystems[i]);
			continue;
		}
		for (unsigned k = 0; k < s->num_wanted; k++)
			s->wanted[k].found |= s->holders[i].holds >> k & 1;
		l->filesystems[kept++] = l->filesystems[i];
	}
	l->num_filesystems = kept;
	return r;
}

static bool is_used(const struct search *s, unsigned image)
{
	return s->images[image] && !s->volumes.problems[image];
}

static bool any_used(const struct search *s)
{
	for (unsigned i = 0; i < s->num_images; i++)
		if (is_used(s, i))
			return true;
	return false;
}

static void print_images(FILE *out, const struct search *s)
{
	unsigned used = 0, printed = 0;

	for (unsigned i = 0; i < s->num_images; i++)
		used += is_used(s, i);
	for (unsigned i = 0; i < s->num_images; i++)
		if (is_used(s, i))
			fprintf(out, "%s%s",
				printed++  ? ", "
				: used > 1 ? "images "
					   : "image ",
				image_path(s->images[i]));
}

/* Prints sentences about images that cannot be used. Returns the number of these images. */
static int print_problems(FILE *out, const struct search *s)
{
	int problems = 0;

	for (unsigned i = 0; i < s->num_images; i++)
		if (s->volumes.problems[i])
			fprintf(out, "%s%s", problems++ ? ". " : "", s->volumes.problems[i]);
	return problems;
}

static int count_missing(const struct search *s)
{
	int missing = 0;

	for (unsigned i = 0; i < s->num_wanted; i++)
		missing += !s->wanted[i].found;
	return missing;
}

static void print_missing(FILE *out, const struct search *s)
{
	const char *between = "";
	bool unexplained = false;

	for (unsigned i = 0; i < s->num_wanted; i++) {
		const struct wanted *w = &s->wanted[i];

		if (w->found)
			continue;
		fputs(between, out);
		print_images(out, s);
		fprintf(out, ": no data directory %s: %s", w->path,
			w->note[0] ? w->note : "its partition table is empty");
		unexplained |= !w->explained;
		between = ". ";
	}
	if (unexplained)
		fputs(". Check the path inside the file system; if the datanode has not formatted "
		      "the directory yet, nothing needs to be done",
		      out);
}

/* Writes sentences about directories that were not found and images that cannot be used. Returns
 * their number, or -ENOMEM. */
static int tell_missing(const struct search *s, char **ret_missing)
{
	int missing = any_used(s) ? count_missing(s) : 0, problems;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	problems = print_problems(out, s);
	if (problems && missing)
		fputs(". ", out);
	if (missing)
		print_missing(out, s);
	if (fclose(out) != 0 || !text) {
		free(text);
		return -ENOMEM;
	}
	if (problems || missing)
		*ret_missing = text;
	else
		free(text);
	return problems + missing;
}

/* Returns the error of the first image that cannot be used. Called only if no image can be used. */
static int first_error(const struct search *s)
{
	for (unsigned i = 0; i < s->num_images; i++)
		if (s->volumes.errors[i])
			return s->volumes.errors[i];
	return -ENODEV;
}

static int search_images(struct search *s, char **ret_missing)
{
	struct image_layout *l = s->layout;
	int r = volumes_find(s->images, s->num_images, &s->volumes);

	if (r < 0)
		return r;
	l->image_sizes = calloc(s->num_images + 1, sizeof(*l->image_sizes));
	l->filesystems = calloc(LAYOUT_MAX_FILESYSTEMS, sizeof(*l->filesystems));
	if (!l->image_sizes || !l->filesystems)
		return -ENOMEM;
	for (unsigned i = 0; i < s->num_images; i++)
		l->image_sizes[l->num_images++] = s->images[i] ? image_size(s->images[i]) : 0;
	for (unsigned i = 0; i < s->volumes.count && r == 0; i++)
		r = search_volume(s, &s->volumes.list[i]);
	if (r == 0)
		r = choose_readings(s);
	for (unsigned i = 0; s->volumes.cut && i < s->num_wanted; i++)
		add_note(&s->wanted[i], "there are too many logical volumes; some were left out");
	if (r == 0)
		r = tell_missing(s, ret_missing);
	return r >= 0 && !any_used(s) ? first_error(s) : r;
}

int discover(struct image *const *images, unsigned num_images, const char *const *dirs,
	     unsigned num_dirs, struct image_layout **ret, char **ret_missing)
{
	struct search s = {.images = images, .num_images = num_images, .num_wanted = num_dirs};
	int r = -ENOMEM;

	*ret_missing = NULL;
	s.wanted = calloc(num_dirs, sizeof(*s.wanted));
	s.layout = calloc(1, sizeof(*s.layout));
	for (unsigned i = 0; s.wanted && i < num_dirs; i++)
		s.wanted[i].path = dirs[i];
	if (s.wanted && s.layout)
		r = search_images(&s, ret_missing);
	if (r == -ENOMEM)
		error_text(ret_missing, r, "out of memory");
	volumes_clear(&s.volumes);
	free(s.wanted);
	if (r < 0) {
		layout_free(s.layout);
		return r;
	}
	*ret = s.layout;
	return r;
}
