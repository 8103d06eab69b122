/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h - opens a file that an image names: the backing file of a qcow2 file.  disk/source.c
 * calls it, and the opener (opener/answer.c) for a vreadd that may not open images itself.
 *
 * Whoever writes an image chooses the name, and the process may read any file.  So the name decides
 * nothing.
 * The file is found first, without opening it for reading.  Then the place of the found file,
 * behind all symbolic links, is compared with the folders that the operator allows.  The same file
 * is then opened for reading, by its descriptor and not by its name, so that nothing can take the
 * place of the file in between.
 */
#ifndef VREAD_DISK_NAMING_H
#define VREAD_DISK_NAMING_H

#include <sys/types.h>

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

/* Finds a file or block device that the operator named, without opening it.  Links of procfs are
 * not followed.  Returns an O_PATH descriptor, or negative errno with *ret_error (free() it). */
int naming_find_image(const char *path, char **ret_error);
/* The same, and opens it for reading.  Anything but a regular file or a block device is refused
 * without being opened, since opening some devices changes their state. */
int naming_open_image(const char *path, char **ret_error);
/* Returns what an operator can do about an error of opening, as the end of a message.  "": nothing
 * is known. */
const char *naming_hint(int error);
/* 0 if mode is of a regular file or a block device; else negative errno with *ret_error. */
int naming_check_kind(const char *path, mode_t mode, char **ret_error);

#endif
