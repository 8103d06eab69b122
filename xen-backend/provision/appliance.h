/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * appliance.h - libguestfs's sandboxed virtual machine with a datanode's images
 * attached read-only.
 */
#ifndef VREAD_PROVISION_APPLIANCE_H
#define VREAD_PROVISION_APPLIANCE_H

#include <guestfs.h>

#include "disk/image.h"

/* Attaches the images in their order and boots.  NULL with *ret_error (free() it).  To be ended
 * with guestfs_close(). */
guestfs_h *appliance_start(struct image *const *images, unsigned num_images, char **ret_error);

/* Frees a list of strings as libguestfs returns them. */
void appliance_free_list(char **list);

#endif
