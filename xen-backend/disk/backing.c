// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the storage behind paths and block devices in sysfs and procfs; see backing.h.
 * port/xen/disks.c calls it.
 */
#include "disk/backing.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/shortage.h"

#define MAX_DEPTH 8 /* loop devices stacked on files of each other; no real host has more */

/* Reads the first line of a sysfs attribute of device, without the newline. */
static bool attribute(dev_t device, const char *name, char *ret, size_t size)
{
	char path[400];
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

/* True if the error says nothing about the file: storage hangs, or this host lacks something. */
static bool is_no_answer(int error)
{
	return is_shortage(error) || error == -ETIMEDOUT || error == -EBUSY || error == -EPIPE;
}

/* Replaces *b, if it is a loop device, by the file behind it. Returns 1 if it did, 0, or negative
 * errno. */
static int descend(struct backing *b, enum opener_whose whose)
{
	char file[PATH_MAX], dio[8];
	struct stat st;
	int r;

	if (!b->block_device || !attribute(b->dev, "loop/backing_file", file, sizeof(file)))
		return 0;
	r = opener_stat(file, whose, &st);
	if (r < 0)
		return is_no_answer(r) ? r : 0;
	b->loop = true;
	if (attribute(b->dev, "loop/dio", dio, sizeof(dio)) && dio[0] == '1')
		b->loop_direct = true;
	from_stat(&st, b);
	return 1;
}

static int to_the_bottom(struct backing *b, enum opener_whose whose)
{
	int r = 1;

	for (unsigned i = 0; i < MAX_DEPTH && r > 0; i++)
		r = descend(b, whose);
	return r < 0 ? r : 1;
}

int backing_of_path(const char *path, enum opener_whose whose, struct backing *ret)
{
	struct stat st;
	int r = opener_stat(path, whose, &st);

	*ret = (struct backing){0};
	if (r < 0)
		return is_no_answer(r) ? r : 0;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return 0;
	from_stat(&st, ret);
	return to_the_bottom(ret, whose);
}

int backing_of_device(dev_t device, enum opener_whose whose, struct backing *ret)
{
	*ret = (struct backing){.block_device = true, .dev = device};
	return to_the_bottom(ret, whose);
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

static bool is(dev_t device, const struct backing *b)
{
	struct backing found;

	return backing_of_device(device, OPENER_OTHERS, &found) > 0 && backing_same(&found, b);
}

static bool is_over(dev_t device, const struct backing *b, unsigned depth);

/* True if one of the devices that a logical volume, a RAID or the like is made of is on b. */
static bool is_made_of(dev_t device, const struct backing *b, unsigned depth)
{
	char path[64];
	struct dirent *e;
	bool found = false;
	DIR *slaves;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/slaves", major(device), minor(device));
	slaves = opendir(path);
	while (slaves && !found && (e = readdir(slaves))) {
		char name[300], text[32];
		dev_t slave;

		snprintf(name, sizeof(name), "slaves/%s/dev", e->d_name);
		found = e->d_name[0] != '.' && attribute(device, name, text, sizeof(text)) &&
			parse_device(text, &slave) && is_over(slave, b, depth + 1);
	}
	if (slaves)
		closedir(slaves);
	return found;
}

/* True if the device is b, a partition of b, or a volume over one of them. */
static bool is_over(dev_t device, const struct backing *b, unsigned depth)
{
	return is(device, b) || is(disk_of(device), b) ||
	       (depth < MAX_DEPTH && is_made_of(device, b, depth));
}

/* Tells whether a line of mountinfo, such as "36 35 254:1 / /mnt rw ...", mounts a file system over
 * b. */
static bool is_mount_of(const char *line, const struct backing *b, char *ret_where, size_t size)
{
	char device[32], where[PATH_MAX];
	dev_t number;

	if (sscanf(line, "%*s %*s %31s %*s %4095s", device, where) != 2 ||
	    !parse_device(device, &number) || major(number) == 0)
		return false;
	if (!is_over(number, b, 0))
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
