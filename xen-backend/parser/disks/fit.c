// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks whether a layout still describes its images: layout_check_fit() of partition.h. A guest
 * may repartition or reformat its disk, and an operator may swap the image. A stale layout would at
 * best find nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "parser/disks/partition.h"
#include "parser/disks/volumes.h"

struct fit {
	struct image *const *images;
	struct image_layout *layout;
	const char *layout_path;
	struct volumes now;
	char **ret_error;
};

static const char *path_of(const struct fit *f, const struct layout_filesystem *lfs)
{
	return image_path(f->images[lfs->image]);
}

static int stale(const struct fit *f, const struct layout_filesystem *lfs, const char *what,
		 uint64_t expected, uint64_t found)
{
	char name[LAYOUT_MAX_VOLUME_NAME];

	return error_text(f->ret_error, -ESTALE,
			  "layout %s is stale: %s %s was at %llu, and image %s has it at %llu; "
			  "run vread-provision again",
			  f->layout_path, layout_volume_name(lfs, name), what,
			  (unsigned long long)expected, path_of(f, lfs), (unsigned long long)found);
}

static int stale_text(const struct fit *f, const struct layout_filesystem *lfs, const char *what,
		      const char *expected, const char *found)
{
	char place[LAYOUT_MAX_PLACE];

	return error_text(f->ret_error, -ESTALE,
			  "layout %s is stale: %s of %s was %s and is now %s in image %s; "
			  "run vread-provision again",
			  f->layout_path, what, layout_place(lfs, place), expected,
			  found[0] ? found : "missing", path_of(f, lfs));
}

static bool is_same(const struct layout_filesystem *at, const struct layout_filesystem *lfs)
{
	return layout_same_place(at, lfs) && !strcmp(at->type, lfs->type) &&
	       !strcasecmp(at->uuid, lfs->uuid);
}

/* Returns the volume that has the same name now (LVM), or the same image and partition; NULL if
 * there is none. A disk can often be read in several ways: one that fits the layout counts. */
static const struct found_volume *find(const struct fit *f, const struct layout_filesystem *lfs)
{
	const struct found_volume *first = NULL;

	for (unsigned i = 0; i < f->now.count; i++) {
		const struct layout_filesystem *at = &f->now.list[i].at;

		if (lfs->table != at->table)
			continue;
		if (lfs->table == LAYOUT_LVM
			    ? !strcmp(at->volume, lfs->volume)
			    : at->image == lfs->image && at->partition == lfs->partition)
			if (!first || (is_same(at, lfs) && !is_same(&first->at, lfs)))
				first = &f->now.list[i];
	}
	return first;
}

static int check_logical(const struct fit *f, const struct layout_filesystem *lfs,
			 const struct found_volume *now)
{
	const char *what = "lies elsewhere now (it was extended, reduced or moved)";

	if (now && !now->problem && layout_same_place(lfs, &now->at))
		return 0;
	if (!now)
		what = "does not exist any more";
	else if (now->problem)
		what = now->problem;
	return error_text(f->ret_error, -ESTALE,
			  "layout %s is stale: logical volume %s%s%s; run vread-provision again",
			  f->layout_path, lfs->volume,
			  now && now->problem ? " cannot be read: " : " ", what);
}

static int check_place(const struct fit *f, const struct layout_filesystem *lfs,
		       const struct found_volume *now)
{
	char name[LAYOUT_MAX_VOLUME_NAME];

	if (lfs->table == LAYOUT_LVM)
		return check_logical(f, lfs, now);
	/* A disk that had no partition table may have one now. */
	if (!now && lfs->table == LAYOUT_NONE)
		return stale_text(f, lfs, "file system", lfs->type, "");
	if (!now)
		return error_text(f->ret_error, -ESTALE,
				  "layout %s is stale: image %s has no partition %s any more; "
				  "run vread-provision again",
				  f->layout_path, path_of(f, lfs), layout_volume_name(lfs, name));
	if (now->at.offset != lfs->offset)
		return stale(f, lfs, "start", lfs->offset, now->at.offset);
	if (now->at.length != lfs->length)
		return stale(f, lfs, "length", lfs->length, now->at.length);
	if (now->problem)
		return error_text(f->ret_error, -EIO, "image %s cannot be read at byte %llu",
				  path_of(f, lfs), (unsigned long long)lfs->offset);
	return 0;
}

static int take_guards(const struct fit *f, struct layout_filesystem *lfs,
		       const struct found_volume *now)
{
	layout_guards_clear(&lfs->guards);
	if (layout_guards_add_all(&lfs->guards, &now->at.guards) < 0)
		return error_text(f->ret_error, -ENOMEM, "layout %s: out of memory",
				  f->layout_path);
	return 0;
}

static int check_filesystem(const struct fit *f, struct layout_filesystem *lfs)
{
	const struct found_volume *now = find(f, lfs);
	char place[LAYOUT_MAX_PLACE];
	int r = check_place(f, lfs, now);

	if (r < 0)
		return r;
	if (disk_type_is_encrypted(now->at.type))
		return error_text(f->ret_error, -ESTALE,
				  "layout %s is stale: %s of image %s is encrypted (%s) now, "
				  "and encrypted disks cannot be read",
				  f->layout_path, layout_place(lfs, place), path_of(f, lfs),
				  now->at.type);
	if (strcmp(now->at.type, lfs->type))
		return stale_text(f, lfs, "file system", lfs->type, now->at.type);
	if (strcasecmp(now->at.uuid, lfs->uuid))
		return stale_text(f, lfs, "UUID", lfs->uuid, now->at.uuid);
	return take_guards(f, lfs, now);
}

static int check_size(const struct fit *f, unsigned i)
{
	uint64_t size = f->images[i] ? image_size(f->images[i]) : 0;
	uint64_t expected = f->layout->image_sizes[i];

	if (!f->images[i] || size == expected)
		return 0;
	return error_text(f->ret_error, -ESTALE,
			  "layout %s is for an image of %llu bytes, but %s has %llu: the image was "
			  "%s or replaced; run vread-provision again",
			  f->layout_path, (unsigned long long)expected, image_path(f->images[i]),
			  (unsigned long long)size, size < expected ? "truncated" : "grown");
}

static int check_images(struct fit *f)
{
	for (unsigned i = 0; i < f->layout->num_images; i++)
		if (f->now.errors[i])
			return error_text(f->ret_error, f->now.errors[i], "%s", f->now.problems[i]);
	return 0;
}

int layout_check_fit(struct image *const *images, unsigned num_images, struct image_layout *layout,
		     const char *layout_path, char **ret_error)
{
	struct fit f = {images, layout, layout_path, {0}, ret_error};
	int r = 0;

	if (num_images != layout->num_images)
		return error_text(ret_error, -ESTALE,
				  "layout %s is for %u images, but the configuration names %u; run "
				  "vread-provision again",
				  layout_path, layout->num_images, num_images);
	for (unsigned i = 0; r == 0 && i < num_images; i++)
		r = check_size(&f, i);
	if (r < 0)
		return r;
	r = volumes_find(images, num_images, &f.now);
	if (r < 0)
		return error_text(ret_error, r, "layout %s: out of memory", layout_path);
	r = check_images(&f);
	for (unsigned k = 0; r == 0 && k < layout->num_filesystems; k++)
		r = check_filesystem(&f, &layout->filesystems[k]);
	volumes_clear(&f.now);
	return r;
}
