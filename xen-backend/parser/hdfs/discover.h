/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * discover.h - finding a datanode's data directories on its disks, without an
 * appliance.
 *
 * For disks that need no more than libblkid, lvm.h and the readers of fs.h: with a GPT,
 * an MBR or no partition table, LVM or none, and the directories on a file system of
 * theirs.  The operator names the directories; who they belong to is read from
 * their VERSION files.  What comes out is the layout vread-provision would
 * write for the same directories.
 *
 * The image is a guest's and may be in use: a directory that is not there now
 * may be there a moment later, and everything found is bounded and checked as
 * a layout file's content is.
 */
#ifndef VREAD_LAYOUT_DISCOVER_H
#define VREAD_LAYOUT_DISCOVER_H

#include "layout/layout.h"
#include "disk/image.h"

/*
 * Looks for dirs (at most LAYOUT_MAX_DATA_DIRS, valid by layout_path_valid(), each once) in
 * every file system of the images; *ret has those file systems that hold at least one.
 * An image that is NULL could not be opened, and is passed over: HDFS works on when it
 * loses a disk.
 *
 * 0: all is well.  Positive: *ret_missing (free() it) says of each dir found nowhere what was found
 * instead, and of each image that cannot be used why, and what to do.  Negative errno, with *ret
 * unchanged and the same in *ret_missing: none of the images can be used.
 */
int discover(struct image *const *images, unsigned num_images, const char *const *dirs,
	     unsigned num_dirs, struct image_layout **ret, char **ret_missing);

#endif
