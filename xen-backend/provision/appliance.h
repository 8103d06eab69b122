/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * appliance.h - starts libguestfs's sandboxed virtual machine with a datanode's images attached
 * read-only.  main.c, inspect.c, agree.c and search.c call these functions.
 */
#ifndef VREAD_PROVISION_APPLIANCE_H
#define VREAD_PROVISION_APPLIANCE_H

#include <guestfs.h>

#include "disk/image.h"

/* Attaches the images in their order and boots the appliance.  NULL: failed, with *ret_error
 * (free() it).  End the appliance with guestfs_close(). */
guestfs_h *appliance_start(struct image *const *images, unsigned num_images, char **ret_error);

/* The label of image number `image`.  The appliance has a link of this name in APPLIANCE_LABELS,
 * and a link for each of the image's partitions: the label followed by the partition's number.
 * Use labels because the kernel decides at each boot which image is sda, sdb and so on, and
 * libguestfs hides this.  Returns buf. */
#define APPLIANCE_LABELS "/dev/disk/guestfs"
#define APPLIANCE_MAX_LABEL 8
const char *appliance_label(unsigned image, char buf[APPLIANCE_MAX_LABEL]);

/* Frees a list of strings as libguestfs returns them. */
void appliance_free_list(char **list);

#endif
