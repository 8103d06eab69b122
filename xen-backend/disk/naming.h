/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h - opens a file that an image names: the backing file of a qcow2 file.  disk/source.c
 * calls it; private to disk/.
 *
 * Whoever writes an image chooses the name, and vreadd runs as root.  So the name decides nothing.
 * The file is found first, without opening it for reading.  Then the place of the found file, behind
 * all symbolic links, is compared with the folders that the operator allows.  The same file is then
 * opened for reading, by its descriptor and not by its name, so that nothing can take the place of
 * the file in between.
 */
#ifndef VREAD_DISK_NAMING_H
#define VREAD_DISK_NAMING_H

#include "disk/image.h"

/* Who names the file, and where the file may be. */
struct naming {
	const char *image; /* path of the file that has the name in it */
	const char *top;   /* path of the image that the operator named */
	const struct image_folders *folders;
};

/* Opens path, a file that an image names, for reading.  Returns a descriptor, or negative errno
 * with *ret_error (free() it). */
int naming_open(const struct naming *n, const char *path, char **ret_error);

#endif
