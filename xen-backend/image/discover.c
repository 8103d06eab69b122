// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Partition by partition, directory by directory; see discover.h.
 */
#include "image/discover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/data_dir.h"
#include "image/error.h"
#include "image/fs.h"
#include "image/partition.h"

/* Of one directory's note: what a disk of a hundred partitions has to say is cut. */
#define MAX_NOTE 1024U

/* One of the wanted directories, and what was seen where it was not. */
struct wanted {
	const char *path;
	bool found;
	char note[MAX_NOTE];
};

struct search {
	struct image_source *source;
	struct wanted *wanted;
	unsigned num_wanted;
	struct image_layout *layout;
};

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

static const char *volume_name(const struct layout_filesystem *volume, char buf[32])
{
	char partition[16];

	if (volume->table == LAYOUT_NONE)
		return "the whole disk";
	snprintf(buf, 32, "partition %s", layout_partition_name(volume, partition));
	return buf;
}

/* The same of every directory: the volume holds none. */
static void note_volume(struct search *s, const struct layout_filesystem *volume, const char *what,
			const char *type)
{
	char name[32];

	for (unsigned i = 0; i < s->num_wanted; i++)
		add_note(&s->wanted[i], "%s %s%s", volume_name(volume, name), what, type);
}

static bool is_ext(const char *type)
{
	return !strcmp(type, "ext2") || !strcmp(type, "ext3") || !strcmp(type, "ext4");
}

/* What one file system says of one of the directories: error is 0 for a data directory. */
struct answer {
	int error;
	const char *reason;
	struct layout_data_dir dir;
};

static void clear_answers(const struct search *s, struct answer *answers)
{
	for (unsigned i = 0; i < s->num_wanted; i++)
		layout_data_dir_clear(&answers[i].dir);
	memset(answers, 0, s->num_wanted * sizeof(*answers));
}

/* 0 and all answers, or negative errno with *ret_reason. */
static int ask_once(const struct search *s, struct fs *fs, struct answer *answers,
		    const char **ret_reason)
{
	struct fs_view *view;
	int r = fs_view_open(fs, &view, ret_reason);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < s->num_wanted && r == 0; i++) {
		struct answer *a = &answers[i];

		a->error = data_dir_read(fs, view, s->wanted[i].path, &a->dir, &a->reason);
		r = a->error == -ENOMEM ? -ENOMEM : 0;
	}
	if (r == 0)
		r = fs_view_confirm(view, NULL);
	fs_view_close(view);
	return r;
}

/* As ask_once(), and all answers as of one moment. */
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

static int take_answers(struct search *s, struct layout_filesystem *volume, struct answer *answers)
{
	char name[32];

	volume->data_dirs = calloc(s->num_wanted, sizeof(*volume->data_dirs));
	if (!volume->data_dirs)
		return -ENOMEM;
	for (unsigned i = 0; i < s->num_wanted; i++) {
		struct answer *a = &answers[i];

		if (a->error) {
			add_note(&s->wanted[i], "%s (%s): %s", volume_name(volume, name),
				 volume->type, a->reason);
			continue;
		}
		s->wanted[i].found = true;
		volume->data_dirs[volume->num_data_dirs++] = a->dir;
		a->dir = (struct layout_data_dir){0};
	}
	return 0;
}

static int search_ext(struct search *s, struct layout_filesystem *volume)
{
	struct answer *answers = calloc(s->num_wanted, sizeof(*answers));
	const char *reason = "its place or its UUID makes no sense";
	struct fs *fs = NULL;
	int r = answers ? 0 : -ENOMEM;

	if (r == 0)
		r = fs_new(s->source, volume->offset, volume->length, volume->type, volume->uuid,
			   &fs);
	if (r == 0)
		r = ask(s, fs, answers, &reason);
	if (r == 0) {
		r = take_answers(s, volume, answers);
	} else if (r != -ENOMEM) {
		note_volume(s, volume, "cannot be read: ", reason);
		r = 0;
	}
	if (answers)
		clear_answers(s, answers);
	free(answers);
	fs_free(fs);
	return r;
}

/* Takes over what volume owns: it becomes the layout's, or is freed. */
static void keep_or_free(struct image_layout *layout, struct layout_filesystem *volume)
{
	if (volume->num_data_dirs)
		layout->filesystems[layout->num_filesystems++] = *volume;
	else
		layout_filesystem_clear(volume);
}

static int search_volume(struct search *s, enum layout_table table, unsigned partition,
			 uint64_t offset, uint64_t length)
{
	struct layout_filesystem volume = {.table = table,
					   .partition = partition,
					   .offset = offset,
					   .length = length};
	char type[32], uuid[40];
	int r = disk_probe(s->source, offset, length, type, uuid);

	if (r < 0) {
		note_volume(s, &volume, "cannot be read", "");
		return 0;
	}
	if (!is_ext(type)) {
		note_volume(s, &volume, type[0] ? "holds what is not read here: " : "is empty",
			    type);
		return 0;
	}
	if (s->layout->num_filesystems == LAYOUT_MAX_FILESYSTEMS)
		return 0;
	volume.type = strdup(type);
	volume.uuid = strdup(uuid);
	r = volume.type && volume.uuid ? search_ext(s, &volume) : -ENOMEM;
	keep_or_free(s->layout, &volume);
	return r;
}

static int search_disk(struct search *s, const struct disk *disk)
{
	int r = 0;

	if (disk->table == LAYOUT_NONE)
		return search_volume(s, LAYOUT_NONE, 0, 0, image_source_size(s->source));
	for (unsigned i = 0; i < disk->num_partitions && r == 0; i++)
		r = search_volume(s, disk->table, disk->partition[i].number,
				  disk->partition[i].offset, disk->partition[i].length);
	return r;
}

/* How many were not found, and the sentences about them. */
static int tell_missing(const struct search *s, char **ret_missing)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int missing = 0;

	for (unsigned i = 0; out && i < s->num_wanted; i++) {
		const struct wanted *w = &s->wanted[i];

		if (w->found)
			continue;
		fprintf(out, "%simage %s: no data directory %s: %s", missing++ ? ". " : "",
			image_source_path(s->source), w->path,
			w->note[0] ? w->note : "its partition table is empty");
	}
	if (missing)
		fputs(". Check the path inside the file system; if the datanode has not formatted "
		      "it yet, nothing needs to be done",
		      out);
	if (out && !fclose(out) && missing) {
		*ret_missing = text;
		return missing;
	}
	free(text);
	return out ? 0 : -ENOMEM;
}

static int search_image(struct search *s, char **ret_missing)
{
	struct disk disk;
	int r = disk_examine(s->source, &disk, ret_missing);

	if (r < 0)
		return r;
	s->layout->image_size = image_source_size(s->source);
	s->layout->filesystems = calloc(LAYOUT_MAX_FILESYSTEMS, sizeof(*s->layout->filesystems));
	r = s->layout->filesystems ? search_disk(s, &disk) : -ENOMEM;
	if (r == 0)
		r = tell_missing(s, ret_missing);
	if (r == -ENOMEM)
		error_text(ret_missing, r, "image %s: out of memory", image_source_path(s->source));
	return r;
}

int discover(struct image_source *source, const char *const *dirs, unsigned num_dirs,
	     struct image_layout **ret, char **ret_missing)
{
	struct search s = {.source = source, .num_wanted = num_dirs};
	int r = -ENOMEM;

	*ret_missing = NULL;
	s.wanted = calloc(num_dirs, sizeof(*s.wanted));
	s.layout = calloc(1, sizeof(*s.layout));
	for (unsigned i = 0; s.wanted && i < num_dirs; i++)
		s.wanted[i].path = dirs[i];
	if (s.wanted && s.layout)
		r = search_image(&s, ret_missing);
	free(s.wanted);
	if (r < 0) {
		layout_free(s.layout);
		return r;
	}
	*ret = s.layout;
	return r;
}
