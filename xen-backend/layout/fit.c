// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether a layout still describes its image; see layout_check_fit().  A guest may
 * repartition or reformat its disk, an operator may swap the image: reading by
 * a stale layout would at best find nothing.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "layout/partition.h"

struct fit {
	struct image *image;
	const char *layout_path;
	char **ret_error;
	char partition[16];
};

static int stale(const struct fit *f, const char *what, uint64_t expected, uint64_t found)
{
	return error_text(f->ret_error, -ESTALE,
			  "layout %s is stale: %s%s%s was at %llu, and image %s has it at %llu; "
			  "run vread-provision again",
			  f->layout_path, f->partition, f->partition[0] ? " " : "", what,
			  (unsigned long long)expected, image_path(f->image),
			  (unsigned long long)found);
}

static int stale_text(const struct fit *f, const char *what, const char *expected,
		      const char *found)
{
	return error_text(
		f->ret_error, -ESTALE,
		"layout %s is stale: %s of partition %s was %s and is now %s in image %s; "
		"run vread-provision again",
		f->layout_path, what, f->partition, expected, found[0] ? found : "missing",
		image_path(f->image));
}

static const struct disk_partition *find(const struct disk *d, unsigned number)
{
	for (unsigned i = 0; i < d->num_partitions; i++)
		if (d->partition[i].number == number)
			return &d->partition[i];
	return NULL;
}

static int check_partition(const struct fit *f, const struct disk *d,
			   const struct layout_filesystem *lfs)
{
	const struct disk_partition *p;

	if (lfs->table == LAYOUT_NONE)
		return 0;
	p = d->table == lfs->table ? find(d, lfs->partition) : NULL;
	if (!p)
		return error_text(f->ret_error, -ESTALE,
				  "layout %s is stale: image %s has no partition %s any more; "
				  "run vread-provision again",
				  f->layout_path, image_path(f->image), f->partition);
	if (p->offset != lfs->offset)
		return stale(f, "start", lfs->offset, p->offset);
	if (p->length != lfs->length)
		return stale(f, "length", lfs->length, p->length);
	return 0;
}

static int check_filesystem(const struct fit *f, const struct layout_filesystem *lfs)
{
	char type[32], uuid[40];
	int r = disk_probe_range(f->image, lfs->offset, lfs->length, type, uuid);

	if (r < 0)
		return error_text(f->ret_error, r, "image %s cannot be read at byte %llu",
				  image_path(f->image), (unsigned long long)lfs->offset);
	if (disk_type_is_encrypted(type))
		return error_text(
			f->ret_error, -ESTALE,
			"layout %s is stale: partition %s of image %s is encrypted (%s) now, "
			"and encrypted disks cannot be read",
			f->layout_path, f->partition, image_path(f->image), type);
	if (strcmp(type, lfs->type))
		return stale_text(f, "file system", lfs->type, type);
	if (strcasecmp(uuid, lfs->uuid))
		return stale_text(f, "UUID", lfs->uuid, uuid);
	return 0;
}

static int check_size(const struct fit *f, uint64_t expected)
{
	uint64_t size = image_size(f->image);

	if (size == expected)
		return 0;
	return error_text(f->ret_error, -ESTALE,
			  "layout %s is for an image of %llu bytes, and %s has %llu: it was "
			  "%s or is another one; run vread-provision again",
			  f->layout_path, (unsigned long long)expected, image_path(f->image),
			  (unsigned long long)size, size < expected ? "truncated" : "grown");
}

/* Number i, and the file systems on it. */
static int check_image(struct fit *f, const struct image_layout *layout, unsigned i)
{
	struct disk disk;
	int r = check_size(f, layout->image_sizes[i]);

	if (r == 0)
		r = disk_examine(f->image, &disk, f->ret_error);
	for (unsigned k = 0; r == 0 && k < layout->num_filesystems; k++) {
		const struct layout_filesystem *lfs = &layout->filesystems[k];

		if (lfs->image != i)
			continue;
		layout_partition_name(lfs, f->partition);
		r = check_partition(f, &disk, lfs);
		if (r == 0)
			r = check_filesystem(f, lfs);
	}
	f->partition[0] = '\0';
	return r;
}

int layout_check_fit(struct image *const *images, unsigned num_images,
		     const struct image_layout *layout, const char *layout_path, char **ret_error)
{
	struct fit f = {.layout_path = layout_path, .ret_error = ret_error};
	int r = 0;

	if (num_images != layout->num_images)
		return error_text(ret_error, -ESTALE,
				  "layout %s is for %u images, and the configuration names %u; run "
				  "vread-provision again",
				  layout_path, layout->num_images, num_images);
	for (unsigned i = 0; r == 0 && i < num_images; i++) {
		f.image = images[i];
		r = check_image(&f, layout, i);
	}
	return r;
}
