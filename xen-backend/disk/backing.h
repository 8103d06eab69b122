/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backing.h - what a block device of this host is made of, as far as sysfs tells: the file
 * behind a loop device, the disk a partition is on.  And whether two names are one disk.
 */
#ifndef VREAD_DISK_BACKING_H
#define VREAD_DISK_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A file or a block device that is not a loop device. */
struct backing {
	bool block_device;
	dev_t dev;        /* of the block device, or where the file is */
	ino_t ino;        /* of the file */
	bool loop;        /* reached through a loop device ... */
	bool loop_direct; /* ... that goes past the file's page cache */
};

/* False: there is no such file or device. */
bool backing_of_path(const char *path, struct backing *ret);
void backing_of_device(dev_t device, struct backing *ret);
bool backing_same(const struct backing *a, const struct backing *b);

/* Where in this process's view a file system on that disk, or on a partition of it, is mounted:
 * false if nowhere. */
bool backing_mounted(const struct backing *b, char *ret_where, size_t size);

#endif
