/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.h - one disk of a guest: its bytes, in whatever format its file has.
 *
 * A format is never guessed: the first bytes of a raw disk are its guest's to
 * write, and could name any file of this host as the backing file of a qcow2.
 * What the operator does not name is raw.
 *
 * Threads: any number may read.  Errors: -EIO (also outside the disk), -EAGAIN
 * its owner moved what was being read: ask again, -ENOMEM.
 */
#ifndef VREAD_DISK_IMAGE_H
#define VREAD_DISK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/source.h"

struct image;

/* Where bytes of the disk are just now. */
struct image_run {
	struct source *source; /* belongs to the image; NULL: they are zeros */
	uint64_t offset;       /* in the source */
	uint64_t length;
};

/* path, after a format's name and a colon if it is not raw ("qcow2:/srv/dn1.qcow2"): the
 * format's name, a static text ("raw" without one), and *ret_path within spec; NULL: there is no
 * such format. */
const char *image_spec_split(const char *spec, const char **ret_path);
/* "raw, qcow2 or vhd": for messages. */
const char *image_format_names(void);

/* 0, or negative errno with *ret_error (free() it) saying what is wrong with it. */
int image_open(const char *spec, enum source_mode mode, struct image **ret, char **ret_error);
void image_close(struct image *img); /* NULL is ignored */

/* Calls cb for each file it is made of, the one that was named first; cb returns 0 to go on, else
 * its value is returned. */
int image_for_each_file(struct image *img, int (*cb)(void *ctx, struct source *file), void *ctx);

const char *image_path(const struct image *img);   /* of its file */
const char *image_format(const struct image *img); /* "raw" */
/* The one that holds what is not in this file; NULL: there is none. */
const struct image *image_backing(const struct image *img);
uint64_t image_size(const struct image *img); /* bytes the guest sees */
bool image_is_direct(const struct image *img);

/* Exactly length bytes at offset. */
int image_read(struct image *img, uint64_t offset, void *buf, size_t length);

/* The first run of [offset, offset + length), which is inside the disk: as long as it lies in one
 * place, at most length.  -EOPNOTSUPP: what is there is read by image_read() only. */
int image_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret);
/* Whether runs may move while its owner writes: then they are to be mapped again, and
 * compared, after what they say was read. */
bool image_moves(const struct image *img);

/* A number that is another one when its files were written to since, as far as their times
 * tell (block devices have none: always 0). */
int image_changes(struct image *img, uint64_t *ret);

/* Whether both are the same files, with as many bytes, and can still be read. */
bool image_is_same(struct image *a, struct image *b);

#endif
