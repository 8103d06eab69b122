// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements disk_list.h: reads the backend directories. disks.c calls it.
 */
#include "port/xen/disk_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/number.h"

#define MAX_DISKS 65536U

const struct disk_kind disk_kinds[DISK_KINDS] = {
	{"vbd", "blkback", false},
	{"qdisk", "qemu", false},
	{"vbd3", "tapdisk", true},
};

/* Where the list is read. */
struct place {
	struct xs_handle *xs;
	uint32_t domid; /* whose backend directories */
	const struct disk_list *last;
};

/* Returns a value fit for paths and messages (free() it), or NULL. */
static char *value_of(struct xs_handle *xs, const char *directory, const char *node)
{
	char *value;

	return store_read(xs, XBT_NULL, &value, "%s/%s", directory, node) == 0 ? value : NULL;
}

/* Parses a device such as "fe:0", both numbers hexadecimal, as hotplug scripts write it. */
static bool parse_physical_device(const char *text, dev_t *ret)
{
	unsigned hi, lo;
	char end;

	if (sscanf(text, "%x:%x%c", &hi, &lo, &end) != 2)
		return false;
	*ret = makedev(hi, lo);
	return true;
}

/*
 * Returns a copy of the path in "aio:/srv/dn1.img", "phy:/dev/vg/dn1" or a bare path; NULL: there
 * is no path.
 */
static char *path_in(const char *params)
{
	const char *path = params ? strchr(params, '/') : NULL;

	return path ? strdup(path) : NULL;
}

static bool is_set(const char *value)
{
	return value && strcmp(value, "0") != 0;
}

static void read_disk(struct xs_handle *xs, const char *directory, struct vdisk *disk)
{
	char *params = value_of(xs, directory, "params");
	char *device = value_of(xs, directory, "physical-device");
	char *mode = value_of(xs, directory, "mode");
	char *direct = value_of(xs, directory, "direct-io-safe");
	char *named = value_of(xs, directory, "physical-device-path");

	disk->path = path_in(params) ?: path_in(named); /* of a hotplug script */
	disk->on_device = device && parse_physical_device(device, &disk->device);
	disk->writes = mode && mode[0] == 'w';
	disk->direct_io_safe = is_set(direct);
	free(params);
	free(device);
	free(mode);
	free(direct);
	free(named);
}

static void put_disk(struct vdisk *disk)
{
	if (--disk->references)
		return;
	free(disk->path);
	free(disk);
}

/* Takes over the reference. */
static void append(struct disk_list *list, struct vdisk *disk)
{
	struct vdisk **grown = reallocarray(list->disks, list->count + 1, sizeof(*grown));

	if (!grown) {
		put_disk(disk);
		list->incomplete = true;
		return;
	}
	list->disks = grown;
	list->disks[list->count++] = disk;
}

static bool is_same_disk(const struct vdisk *a, const struct vdisk *b)
{
	return a->kind == b->kind && a->domid == b->domid && a->id == b->id &&
	       a->on_device == b->on_device && a->device == b->device && a->writes == b->writes &&
	       a->direct_io_safe == b->direct_io_safe &&
	       (a->path && b->path ? !strcmp(a->path, b->path) : a->path == b->path);
}

/* Looks at number `first` first: most disks keep their places. */
static struct vdisk *find_disk(const struct disk_list *list, const struct vdisk *disk, size_t first)
{
	for (size_t i = 0; list && i < list->count; i++) {
		struct vdisk *at = list->disks[(first + i) % list->count];

		if (is_same_disk(at, disk))
			return at;
	}
	return NULL;
}

static void add_disk(struct disk_list *list, const struct place *at, const struct disk_kind *kind,
		     uint32_t domid, const char *id)
{
	char directory[STORE_MAX_PATH];
	struct vdisk *disk, *was;
	uint32_t number;

	if (!parse_number(id, 0, UINT32_MAX, &number) || list->count == MAX_DISKS)
		return;
	disk = calloc(1, sizeof(*disk));
	if (!disk) {
		list->incomplete = true;
		return;
	}
	*disk = (struct vdisk){
		.references = 1, .kind = kind, .domid = domid, .id = number, .found = -ENODATA};
	snprintf(directory, sizeof(directory), "/local/domain/%u/backend/%s/%u/%u", at->domid,
		 kind->directory, domid, number);
	read_disk(at->xs, directory, disk);
	was = find_disk(at->last, disk, list->count);
	if (was) {
		put_disk(disk);
		disk = was;
		disk->references++;
	}
	append(list, disk);
}

static void add_kind(struct disk_list *list, const struct place *at, const struct disk_kind *kind)
{
	unsigned num_domains, num_ids;
	uint32_t domid;
	char **domains = store_list(at->xs, &num_domains, "/local/domain/%u/backend/%s", at->domid,
				    kind->directory);

	for (unsigned i = 0; domains && i < num_domains; i++) {
		char **ids;

		if (!parse_number(domains[i], 0, DISK_LIST_MAX_DOMID, &domid))
			continue;
		ids = store_list(at->xs, &num_ids, "/local/domain/%u/backend/%s/%u", at->domid,
				 kind->directory, domid);
		for (unsigned j = 0; ids && j < num_ids; j++)
			add_disk(list, at, kind, domid, ids[j]);
		free(ids);
	}
	free(domains);
}

void disk_list_put(struct disk_list *list)
{
	if (!list || --list->references)
		return;
	for (size_t i = 0; i < list->count; i++)
		put_disk(list->disks[i]);
	free(list->disks);
	free(list);
}

struct disk_list *disk_list_read(struct xs_handle *xs, uint32_t domid, const struct disk_list *last)
{
	const struct place at = {xs, domid, last};
	struct disk_list *list = calloc(1, sizeof(*list));

	if (!list)
		return NULL;
	list->references = 1;
	for (unsigned i = 0; i < DISK_KINDS; i++)
		add_kind(list, &at, &disk_kinds[i]);
	if (!list->incomplete)
		return list;
	disk_list_put(list);
	return NULL;
}
