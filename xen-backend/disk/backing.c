// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the storage behind paths and block devices in sysfs and procfs; see backing.h.
 * port/xen/disks.c calls it.
 */
#include "disk/backing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "disk/opener.h"

#define MAX_DEPTH 8 /* loop devices stacked on files of each other; no real host has more */

/* Reads the first line of a sysfs attribute of device, without the newline. */
static bool attribute(dev_t device, const char *name, char *ret, size_t size)
{
	char path[128];
	FILE *f;
	bool found;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
	f = fopen(path, "re");
	if (!f)
		return false;
	found = fgets(ret, (int)size, f) != NULL;
	fclose(f);
	if (found)
		ret[strcspn(ret, "\n")] = '\0';
	return found;
}

static void from_stat(const struct stat *st, struct backing *ret)
{
	ret->block_device = S_ISBLK(st->st_mode);
	ret->dev = ret->block_device ? st->st_rdev : st->st_dev;
	ret->ino = ret->block_device ? 0 : st->st_ino;
}

/* Replaces *b, if it is a loop device, by the file behind it. */
static bool descend(struct backing *b)
{
	char file[PATH_MAX], dio[8];
	struct stat st;

	if (!b->block_device || !attribute(b->dev, "loop/backing_file", file, sizeof(file)) ||
	    opener_stat(file, &st) < 0)
		return false;
	b->loop = true;
	if (attribute(b->dev, "loop/dio", dio, sizeof(dio)) && dio[0] == '1')
		b->loop_direct = true;
	from_stat(&st, b);
	return true;
}

static void to_the_bottom(struct backing *b)
{
	for (unsigned i = 0; i < MAX_DEPTH && descend(b); i++)
		continue;
}

bool backing_of_path(const char *path, struct backing *ret)
{
	struct stat st;

	*ret = (struct backing){0};
	if (opener_stat(path, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return false;
	from_stat(&st, ret);
	to_the_bottom(ret);
	return true;
}

void backing_of_device(dev_t device, struct backing *ret)
{
	*ret = (struct backing){.block_device = true, .dev = device};
	to_the_bottom(ret);
}

bool backing_same(const struct backing *a, const struct backing *b)
{
	return a->block_device == b->block_device && a->dev == b->dev && a->ino == b->ino;
}

/* Parses "254:1". */
static bool parse_device(const char *text, dev_t *ret)
{
	unsigned hi, lo;

	if (sscanf(text, "%u:%u", &hi, &lo) != 2)
		return false;
	*ret = makedev(hi, lo);
	return true;
}

/* Returns the disk that a partition is on; for a disk, the disk itself. */
static dev_t disk_of(dev_t device)
{
	char text[32];
	dev_t disk;

	if (attribute(device, "partition", text, sizeof(text)) &&
	    attribute(device, "../dev", text, sizeof(text)) && parse_device(text, &disk))
		return disk;
	return device;
}

/* Tells whether a line of mountinfo, such as "36 35 254:1 / /mnt rw ...", mounts b or a partition
 * of b. */
static bool is_mount_of(const char *line, const struct backing *b, char *ret_where, size_t size)
{
	char device[32], where[PATH_MAX];
	struct backing itself, disk;
	dev_t number;

	if (sscanf(line, "%*s %*s %31s %*s %4095s", device, where) != 2 ||
	    !parse_device(device, &number) || major(number) == 0)
		return false;
	backing_of_device(number, &itself);
	backing_of_device(disk_of(number), &disk);
	if (!backing_same(&itself, b) && !backing_same(&disk, b))
		return false;
	snprintf(ret_where, size, "%s", where);
	return true;
}

bool backing_mounted(const struct backing *b, char *ret_where, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (f && !found && getline(&line, &capacity, f) > 0)
		found = is_mount_of(line, b, ret_where, size);
	free(line);
	if (f)
		fclose(f);
	return found;
}
