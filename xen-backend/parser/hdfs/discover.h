/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * discover.h - finds a datanode's data directories on its disks, without an appliance.
 * parser/serve.c calls it for the question DISCOVER.
 *
 * It is for disks that need only libblkid, lvm.h and the readers of fs.h: with a GPT, an MBR or
 * no partition table, with LVM or without, and with the directories on a file system of their
 * own. The operator names the directories; their VERSION files say which datanode they belong
 * to. The result is the layout that vread-provision would write for the same directories.
 *
 * The images belong to a guest and may be in use. A directory that is missing now may appear a
 * moment later. Everything that is found is limited and checked like the content of a layout
 * file.
 */
#ifndef VREAD_LAYOUT_DISCOVER_H
#define VREAD_LAYOUT_DISCOVER_H

#include "layout/layout.h"
#include "disk/image.h"

/*
 * Looks for `dirs` in every file system of the images. There are at most LAYOUT_MAX_DATA_DIRS of
 * them, each valid by layout_path_valid() and listed once. `*ret` has the file systems that hold
 * at least one of them. An image that is NULL could not be opened and is skipped: HDFS goes on
 * when it loses a disk.
 *
 * Returns 0 if everything was found. A positive result: `*ret_missing` (free() it) says, for
 * each directory that was not found, what was found instead, and for each image that cannot be
 * used, why and what to do. Negative errno, with `*ret` unchanged and the same text in
 * `*ret_missing`: none of the images can be used, or out of memory.
 */
int discover(struct image *const *images, unsigned num_images, const char *const *dirs,
	     unsigned num_dirs, struct image_layout **ret, char **ret_missing);

#endif
