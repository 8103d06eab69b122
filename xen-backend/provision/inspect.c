// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * inspect.c - asks libguestfs what the images hold: see inspect.h.  main.c and summary.c call
 * it.
 *
 * list_partitions and one vfs_type for each partition take a millisecond each.
 * list_filesystems looks for much more and takes seconds, so this file does not use it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parser/fs/fs.h"
#include "parser/disks/partition.h"
#include "layout/place.h"
#include "provision/agree.h"
#include "provision/appliance.h"
#include "provision/inspect.h"
#include "provision/progress.h"
#include "provision/search.h"

struct inspector {
	guestfs_h *g;
	struct image *const *images;
	const char *const *hints;
	unsigned num_hints;
	char **devices; /* the appliance's names of the images, one per image */
	/* the appliance's names of the partitions of all images */
	char **partitions;
	struct inspection *i;
	char **ret_error;
};

static int guestfs_failed(struct inspector *in, const char *doing)
{
	const char *said = guestfs_last_error(in->g);

	return error_text(in->ret_error, -EIO, "image %s: libguestfs failed to %s: %s",
			  image_path(in->images[0]), doing, said ? said : "no reason given");
}

static int out_of_memory(struct inspector *in)
{
	return error_text(in->ret_error, -ENOMEM, "out of memory");
}

static const char *obstacle_of(const char *type)
{
	if (disk_type_remedy(type))
		return disk_type_remedy(type);
	if (layout_type_valid(type))
		return NULL;
	if (!strcmp(type, VOLUMES_LVM_MEMBER))
		return "a physical volume of LVM";
	return "no file system vRead can read";
}

/* Mounts must not replay a journal: that would show data that is not in the image. */
static const char *mount_options(const char *type)
{
	if (!strcmp(type, "ext2"))
		return "ro";
	return strcmp(type, "xfs") ? "ro,noload" : "ro,norecovery";
}

static int search_volume(struct inspector *in, struct inspected *v, const char *device)
{
	char place[LAYOUT_MAX_PLACE];
	int r;

	layout_place(&v->fs, place);
	progress_step("%s: looking for data directories in its %s file system", place, v->fs.type);
	if (guestfs_mount_options(in->g, mount_options(v->fs.type), device, "/") < 0) {
		progress_warn("%s: its %s file system cannot be mounted: %s", place, v->fs.type,
			      guestfs_last_error(in->g));
		v->obstacle = "damaged: it cannot be mounted";
		return 0;
	}
	r = search_data_dirs(in->g, v->name, in->hints, in->num_hints, &v->fs, in->ret_error);
	if (guestfs_umount(in->g, "/") < 0 && r == 0)
		r = guestfs_failed(in, "unmount a file system");
	return r;
}

static void look_for_data_dirs(struct inspected *v, struct fs *fs)
{
	struct fs_view *view = NULL;
	uint64_t inode;

	if (fs_view_open(fs, &view, &v->obstacle) == 0)
		for (unsigned i = 0; i < v->fs.num_data_dirs; i++)
			if (fs_view_lookup(view, fs_view_root(view), v->fs.data_dirs[i].path,
					   &inode))
				v->obstacle =
					"its data directory is not in the image yet (not synced), "
					"or is reached through a symbolic link";
	fs_view_close(view);
}

/* libguestfs is the authority on what is there.  This function checks that vRead's own code,
 * which will read the volume, can read it. */
static void try_own_reader(struct inspector *in, struct inspected *v)
{
	struct volume *volume = NULL;
	struct fs *fs = NULL;

	if (layout_volume(in->images, &v->fs, &volume) < 0 ||
	    fs_new(volume, v->fs.type, v->fs.uuid, &fs) < 0)
		v->obstacle = "it lies outside the image";
	else
		look_for_data_dirs(v, fs);
	fs_free(fs);
	volume_free(volume);
}

static int fill_volume(struct inspector *in, struct inspected *v, const char *device)
{
	char *type = guestfs_vfs_type(in->g, device), *uuid = NULL;
	int r = 0;

	layout_volume_name(&v->fs, v->name);
	if (type && type[0])
		uuid = guestfs_vfs_uuid(in->g, device);
	v->fs.type = type ? type : strdup("");
	v->fs.uuid = uuid ? uuid : strdup("");
	if (!v->fs.type || !v->fs.uuid)
		return out_of_memory(in);
	if (!v->obstacle)
		v->obstacle = obstacle_of(v->fs.type);
	if (!v->obstacle)
		r = search_volume(in, v, device);
	if (r == 0 && !v->obstacle)
		try_own_reader(in, v);
	if (r == 0 && !v->obstacle && v->fs.num_data_dirs)
		r = agree_on_volume(&v->fs, &in->i->own, in->ret_error);
	return r;
}

/* Appends a volume to the list.  NULL: out of memory. */
static struct inspected *new_volume(struct inspection *i)
{
	struct inspected *grown = reallocarray(i->volumes, i->num_volumes + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	i->volumes = grown;
	memset(&grown[i->num_volumes], 0, sizeof(*grown));
	return &grown[i->num_volumes++];
}

/* ---- disks --------------------------------------------------------------------- */

static int inspect_whole(struct inspector *in, unsigned image)
{
	struct inspected *v = new_volume(in->i);

	if (!v)
		return out_of_memory(in);
	v->fs.image = image;
	v->fs.length = in->i->image_sizes[image];
	return fill_volume(in, v, in->devices[image]);
}

static int inspect_partition(struct inspector *in, unsigned image,
			     const struct guestfs_partition *p)
{
	struct inspected *v = new_volume(in->i);
	char device[64];

	if (!v)
		return out_of_memory(in);
	v->fs.image = image;
	v->fs.table = in->i->tables[image];
	v->fs.partition = (unsigned)p->part_num;
	v->fs.offset = p->part_start;
	v->fs.length = p->part_size;
	snprintf(device, sizeof(device), "%s%d", in->devices[image], p->part_num);
	return fill_volume(in, v, device);
}

static int find_table(struct inspector *in, unsigned image)
{
	char *type = guestfs_part_get_parttype(in->g, in->devices[image]);
	int r = 0;

	if (!type)
		return guestfs_failed(in, "read the partition table");
	if (!strcmp(type, "gpt"))
		in->i->tables[image] = LAYOUT_GPT;
	else if (!strcmp(type, "msdos"))
		in->i->tables[image] = LAYOUT_MBR;
	else
		r = error_text(
			in->ret_error, -EOPNOTSUPP,
			"image %s has a partition table of type %s; this version of vRead reads "
			"GPT and MBR",
			image_path(in->images[image]), type);
	free(type);
	return r;
}

static int inspect_partitions(struct inspector *in, unsigned image)
{
	struct guestfs_partition_list *list;
	int r = find_table(in, image);

	if (r < 0)
		return r;
	list = guestfs_part_list(in->g, in->devices[image]);
	if (!list)
		return guestfs_failed(in, "list the partitions");
	for (uint32_t k = 0; k < list->len && r == 0; k++)
		r = inspect_partition(in, image, &list->val[k]);
	guestfs_free_partition_list(list);
	return r;
}

static bool has_partitions(const struct inspector *in, unsigned image)
{
	size_t length = strlen(in->devices[image]);

	for (char **p = in->partitions; *p; p++)
		if (!strncmp(*p, in->devices[image], length) && (*p)[length] >= '0' &&
		    (*p)[length] <= '9')
			return true;
	return false;
}

/* ---- logical volumes --------------------------------------------------------------- */

static struct found_volume *find_own(struct inspection *i, const char *name)
{
	for (unsigned k = 0; k < i->own.count; k++)
		if (i->own.list[k].at.table == LAYOUT_LVM &&
		    !strcmp(i->own.list[k].at.volume, name))
			return &i->own.list[k];
	return NULL;
}

/* Takes the segments that vreadd finds, if the map of the appliance's kernel agrees with them. */
static int locate_logical(struct inspector *in, struct inspected *v)
{
	struct found_volume *own = find_own(in->i, v->fs.volume);
	int r;

	if (!own || own->problem) {
		v->obstacle = own ? own->problem : "not among the volumes vRead reads";
		return 0;
	}
	r = agree_on_segments(in->g, &own->at, &in->i->own, in->ret_error);
	if (r < 0)
		return r;
	v->fs.image = own->at.image;
	v->fs.length = own->at.length;
	return layout_copy_segments(&own->at, &v->fs) ? 0 : out_of_memory(in);
}

/* device is "/dev/group/volume". */
static int inspect_logical(struct inspector *in, const char *device)
{
	struct inspected *v = new_volume(in->i);
	int64_t size = guestfs_blockdev_getsize64(in->g, device);
	int r;

	if (!v || !(v->fs.volume = strdup(device + strlen("/dev/"))))
		return out_of_memory(in);
	v->fs.table = LAYOUT_LVM;
	v->fs.length = size > 0 ? (uint64_t)size : 0;
	r = layout_lv_name_valid(v->fs.volume) ? locate_logical(in, v) : -EINVAL;
	if (r == -EINVAL)
		v->obstacle = "its name is invalid";
	return r < 0 && r != -EINVAL ? r : fill_volume(in, v, device);
}

static int inspect_lvm(struct inspector *in)
{
	char **names = guestfs_lvs(in->g);
	int r = 0;

	if (!names)
		return guestfs_failed(in, "list logical volumes");
	for (size_t k = 0; names[k] && r == 0; k++)
		r = inspect_logical(in, names[k]);
	appliance_free_list(names);
	return r;
}

/* ---- all ------------------------------------------------------------------------------ */

static int list_devices(struct inspector *in)
{
	unsigned n = 0;

	in->devices = guestfs_list_devices(in->g);
	in->partitions = guestfs_list_partitions(in->g);
	while (in->devices && in->devices[n])
		n++;
	if (!in->devices || !in->partitions)
		return guestfs_failed(in, "list disks and partitions");
	return n == in->i->num_images ? 0 : guestfs_failed(in, "attach all images");
}

static int inspect_all(struct inspector *in)
{
	struct inspection *i = in->i;
	int r;

	i->image_sizes = calloc(i->num_images, sizeof(*i->image_sizes));
	i->tables = calloc(i->num_images, sizeof(*i->tables));
	if (!i->image_sizes || !i->tables || volumes_find(in->images, i->num_images, &i->own) < 0)
		return out_of_memory(in);
	r = list_devices(in);
	for (unsigned k = 0; k < i->num_images && r == 0; k++) {
		i->image_sizes[k] = image_size(in->images[k]);
		r = has_partitions(in, k) ? inspect_partitions(in, k) : inspect_whole(in, k);
	}
	return r < 0 ? r : inspect_lvm(in);
}

int inspect_images(guestfs_h *g, struct image *const *images, unsigned num_images,
		   const char *const *hints, unsigned num_hints, struct inspection *ret,
		   char **ret_error)
{
	struct inspector in = {.g = g,
			       .images = images,
			       .hints = hints,
			       .num_hints = num_hints,
			       .i = ret,
			       .ret_error = ret_error};
	int r;

	*ret = (struct inspection){.num_images = num_images};
	r = inspect_all(&in);
	appliance_free_list(in.devices);
	appliance_free_list(in.partitions);
	if (r < 0)
		inspection_clear(ret);
	return r;
}

void inspection_clear(struct inspection *i)
{
	for (unsigned k = 0; k < i->num_volumes; k++)
		layout_filesystem_clear(&i->volumes[k].fs);
	free(i->volumes);
	free(i->image_sizes);
	free(i->tables);
	volumes_clear(&i->own);
	memset(i, 0, sizeof(*i));
}

unsigned inspection_data_dirs(const struct inspection *i)
{
	unsigned n = 0;

	for (unsigned k = 0; k < i->num_volumes; k++)
		n += i->volumes[k].obstacle ? 0 : i->volumes[k].fs.num_data_dirs;
	return n;
}

bool inspection_layout(struct inspection *i, struct image_layout *ret)
{
	*ret = (struct image_layout){.image_sizes = i->image_sizes, .num_images = i->num_images};
	ret->filesystems = calloc(i->num_volumes + 1, sizeof(*ret->filesystems));
	if (!ret->filesystems)
		return false;
	for (unsigned k = 0; k < i->num_volumes; k++)
		if (!i->volumes[k].obstacle && i->volumes[k].fs.num_data_dirs)
			ret->filesystems[ret->num_filesystems++] = i->volumes[k].fs;
	return true;
}
