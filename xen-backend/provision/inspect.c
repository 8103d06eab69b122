// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asking libguestfs what is in the image; see inspect.h.  list_partitions and one
 * vfs_type per partition take a millisecond each; list_filesystems, which
 * looks for much more, takes seconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fs/fs.h"
#include "layout/partition.h"
#include "layout/place.h"
#include "provision/appliance.h"
#include "provision/inspect.h"
#include "provision/progress.h"
#include "provision/search.h"

#define DEVICE "/dev/sda"

struct inspector {
	guestfs_h *g;
	struct image *image;
	const char *const *hints;
	unsigned num_hints;
	char **ret_error;
};

static int guestfs_failed(struct inspector *in, const char *doing)
{
	const char *said = guestfs_last_error(in->g);

	return error_text(in->ret_error, -EIO, "image %s: libguestfs failed to %s: %s",
			  image_path(in->image), doing, said ? said : "no reason given");
}

static const char *obstacle_of(const char *type)
{
	if (disk_type_is_encrypted(type))
		return "encrypted: vRead cannot read it";
	if (fs_type_known(type))
		return NULL;
	if (!strcmp(type, "btrfs") || !strcmp(type, "LVM2_member") ||
	    !strcmp(type, "linux_raid_member") || !strcmp(type, "zfs_member"))
		return "not supported yet by this version of vRead";
	return "no file system vRead can read";
}

/* Replaying a journal would show what is not in the image. */
static const char *mount_options(const char *type)
{
	if (!strcmp(type, "ext2"))
		return "ro";
	return strcmp(type, "xfs") ? "ro,noload" : "ro,norecovery";
}

static int search_volume(struct inspector *in, struct inspected *v, const char *device)
{
	int r;

	progress_step("partition %s: looking for data directories in its %s file system", v->name,
		      v->fs.type);
	if (guestfs_mount_options(in->g, mount_options(v->fs.type), device, "/") < 0) {
		progress_warn("partition %s: its %s file system cannot be mounted: %s", v->name,
			      v->fs.type, guestfs_last_error(in->g));
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

/* libguestfs is the authority on what is there; this is what will read it. */
static void try_own_reader(struct inspector *in, struct inspected *v)
{
	struct volume *volume = NULL;
	struct fs *fs = NULL;

	if (layout_volume(&in->image, &v->fs, &volume) < 0 ||
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
		return error_text(in->ret_error, -ENOMEM, "out of memory");
	v->encrypted = disk_type_is_encrypted(v->fs.type);
	v->obstacle = obstacle_of(v->fs.type);
	if (!v->obstacle)
		r = search_volume(in, v, device);
	if (r == 0 && !v->obstacle)
		try_own_reader(in, v);
	return r;
}

static int add_volumes(struct inspector *in, struct inspection *i, unsigned count)
{
	i->volumes = calloc(count, sizeof(*i->volumes));
	if (!i->volumes)
		return error_text(in->ret_error, -ENOMEM, "out of memory");
	return 0;
}

static int inspect_whole(struct inspector *in, struct inspection *i)
{
	int r = add_volumes(in, i, 1);

	if (r < 0)
		return r;
	i->num_volumes = 1;
	i->volumes[0].fs.length = i->image_size;
	return fill_volume(in, &i->volumes[0], DEVICE);
}

static int inspect_partition(struct inspector *in, struct inspection *i,
			     const struct guestfs_partition *p)
{
	struct inspected *v = &i->volumes[i->num_volumes++];
	char device[32];

	v->fs.table = i->table;
	v->fs.partition = (unsigned)p->part_num;
	v->fs.offset = p->part_start;
	v->fs.length = p->part_size;
	snprintf(device, sizeof(device), DEVICE "%d", p->part_num);
	return fill_volume(in, v, device);
}

static int find_table(struct inspector *in, struct inspection *i)
{
	char *type = guestfs_part_get_parttype(in->g, DEVICE);
	int r = 0;

	if (!type)
		return guestfs_failed(in, "read the partition table");
	if (!strcmp(type, "gpt"))
		i->table = LAYOUT_GPT;
	else if (!strcmp(type, "msdos"))
		i->table = LAYOUT_MBR;
	else
		r = error_text(
			in->ret_error, -EOPNOTSUPP,
			"image %s has a partition table of type %s; this version of vRead reads "
			"GPT and MBR",
			image_path(in->image), type);
	free(type);
	return r;
}

static int inspect_partitions(struct inspector *in, struct inspection *i)
{
	struct guestfs_partition_list *list;
	int r = find_table(in, i);

	if (r < 0)
		return r;
	list = guestfs_part_list(in->g, DEVICE);
	if (!list)
		return guestfs_failed(in, "list the partitions");
	r = add_volumes(in, i, list->len + 1);
	for (uint32_t k = 0; k < list->len && r == 0; k++)
		r = inspect_partition(in, i, &list->val[k]);
	guestfs_free_partition_list(list);
	return r;
}

int inspect_image(guestfs_h *g, struct image *image, const char *const *hints, unsigned num_hints,
		  struct inspection *ret, char **ret_error)
{
	struct inspector in = {g, image, hints, num_hints, ret_error};
	char **partitions = guestfs_list_partitions(g);
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!partitions)
		return guestfs_failed(&in, "list the partitions");
	ret->image_size = image_size(image);
	r = partitions[0] ? inspect_partitions(&in, ret) : inspect_whole(&in, ret);
	appliance_free_list(partitions);
	if (r < 0)
		inspection_clear(ret);
	return r;
}

void inspection_clear(struct inspection *i)
{
	for (unsigned k = 0; k < i->num_volumes; k++)
		layout_filesystem_clear(&i->volumes[k].fs);
	free(i->volumes);
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
	*ret = (struct image_layout){.image_sizes = &i->image_size, .num_images = 1};
	ret->filesystems = calloc(i->num_volumes + 1, sizeof(*ret->filesystems));
	if (!ret->filesystems)
		return false;
	for (unsigned k = 0; k < i->num_volumes; k++)
		if (!i->volumes[k].obstacle && i->volumes[k].fs.num_data_dirs)
			ret->filesystems[ret->num_filesystems++] = i->volumes[k].fs;
	return true;
}
