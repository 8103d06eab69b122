/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.h - one disk of a guest: the bytes that the guest sees, whatever the format of the image
 * file.  vreadd and vread-parser open the images of datanodes, vread-provision those of its command
 * line; disk/volume.c and read/file_runs.c read and map them.
 *
 * A format is never guessed.  The guest writes the first bytes of a raw disk, and could write a
 * qcow2 header that names any file of this host as its backing file.  If the operator names no
 * format, the image is raw.
 *
 * An image may name another file, its backing file.  The file is opened only if it lies, behind all
 * symbolic links, below the folder of the image that the operator named, or below another folder
 * that the operator allows (disk/naming.h).
 *
 * Threads: any number may read.  Errors of reading: -EIO (also outside the disk); -EAGAIN: the
 * owner moved the bytes during the read, ask again; -ENOMEM.
 */
#ifndef VREAD_DISK_IMAGE_H
#define VREAD_DISK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/source.h"

struct image;

/* Where consecutive bytes of the disk are at the moment. */
struct image_run {
	struct source *source; /* belongs to the image; NULL: the bytes are zeros */
	uint64_t offset;       /* in the source */
	uint64_t length;
};

/* Splits a spec: PATH, or FORMAT:PATH as in "qcow2:/srv/dn1.qcow2".  Returns the format's name
 * (static string; "raw" for PATH alone), or NULL if there is no such format.  *ret_path points into
 * spec. */
const char *image_spec_split(const char *spec, const char **ret_path);
/* Returns "raw, qcow2 or vhd", for messages. */
const char *image_format_names(void);

/* Folders below which files may lie that an image names, block devices among them.  A path may also
 * be one such file or device itself. */
struct image_folders {
	const char *const *path;
	unsigned count;
};
#define IMAGE_MAX_FOLDERS 64U
/* True if path may be such a folder: absolute, without "..", and not the root folder. */
bool image_folder_valid(const char *path);

/* Opens the image of a spec, as image_spec_split() takes it.  Files that the image names must be
 * regular files below the folder of the image.  Returns 0, or negative errno with *ret_error
 * (free() it) saying what is wrong with the image. */
int image_open(const char *spec, enum source_mode mode, struct image **ret, char **ret_error);
/* The same, but files that the image names may also be below one of the folders. */
int image_open_within(const char *spec, enum source_mode mode, const struct image_folders *folders,
		      struct image **ret, char **ret_error);
void image_close(struct image *img); /* NULL is ignored */

/* Calls cb for each file of the image: first the file that was named, then the backing files.  If
 * cb returns 0, the walk goes on; any other value ends the walk and is returned. */
int image_for_each_file(struct image *img, int (*cb)(void *ctx, struct source *file), void *ctx);

const char *image_path(const struct image *img);   /* of the file that was named */
const char *image_format(const struct image *img); /* "raw" */
/* Returns the backing image, which holds the bytes that are not in this file; NULL: there is
 * none. */
const struct image *image_backing(const struct image *img);
uint64_t image_size(const struct image *img); /* bytes that the guest sees */
bool image_is_direct(const struct image *img);

/* Reads exactly length bytes at offset. */
int image_read(struct image *img, uint64_t offset, void *buf, size_t length);

/* Finds the first run of [offset, offset + length), a range inside the disk.  The run is as long as
 * its bytes lie in one place, and at most length.  -EOPNOTSUPP: only image_read() can read the
 * bytes there. */
int image_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret);
/* True if runs may move while the owner writes.  Then whoever reads a run must map it again after
 * the read, and compare the two. */
bool image_moves(const struct image *img);

/* Sets *ret to a number.  Two calls give different numbers if a file of the image was written to
 * between them, as far as the times of files tell.  Block devices have no times: always 0. */
int image_changes(struct image *img, uint64_t *ret);

/* True if both images have the same files, formats and sizes, and both can still be read. */
bool image_is_same(struct image *a, struct image *b);

#endif
