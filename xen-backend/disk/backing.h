/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backing.h - finds the storage behind a path or a block device of this host: the file behind a
 * loop device, the disk of a partition, the disks of a logical volume.  port/xen/disks.c calls it
 * to tell whether two names are one disk, and control/datanodes.c, too, whether a disk is mounted
 * here.
 *
 * sysfs describes loop devices and partitions, /proc/self/mountinfo the mounts.
 */
#ifndef VREAD_DISK_BACKING_H
#define VREAD_DISK_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "disk/opener.h"

/* A file or a block device that is not a loop device. */
struct backing {
	bool block_device;
	dev_t dev;        /* the block device, or the file system of the file */
	ino_t ino;        /* the file; 0 for a block device */
	bool loop;        /* reached through a loop device */
	bool loop_direct; /* the loop device bypasses the file's page cache */
};

/* Both return 1; 0: path is no regular file and no block device; or negative errno: nobody can tell
 * at present, as where storage hangs (disk/opener.h).  whose: of the file at path, and of the file
 * behind a loop device. */
int backing_of_path(const char *path, enum opener_whose whose, struct backing *ret);
int backing_of_device(dev_t device, enum opener_whose whose, struct backing *ret);
bool backing_same(const struct backing *a, const struct backing *b);

/* Tells where a file system on disk b, on a partition of b or on a volume over b is mounted in the
 * mount namespace of this process.  Returns false if nowhere. */
bool backing_mounted(const struct backing *b, char *ret_where, size_t size);

#endif
