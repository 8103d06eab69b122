/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h - a file of a guest's file system, as ranges of its volume.
 *
 * A parser finds the ranges; vreadd reads the bytes. What an answer claims is checked while the ranges are put
 * together: fs_file_extend() takes none that lies outside the volume.
 *
 * Threads: a file that nobody changes may be used by any number.
 */
#ifndef VREAD_PARSER_PROTOCOL_FILE_H
#define VREAD_PARSER_PROTOCOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "disk/volume.h"

#define FS_MAX_EXTENTS 65536U

struct fs_extent {
	uint64_t logical;  /* offset in the file */
	uint64_t physical; /* offset in the volume */
	uint64_t length;   /* bytes */
};

struct fs_file {
	uint64_t size;
	uint64_t mapped; /* bytes from 0 up that can be read; <= size */
	unsigned num_extents;
	struct fs_extent *extents; /* ascending, without overlap, inside the file system */
	uint8_t *content; /* NULL, or all size bytes: they lie in metadata, not in extents */
};

/* Appends to f->extents, merging neighbours.  Refuses what is not ascending or not inside a
 * volume of that length with -EIO. */
int fs_file_extend(struct fs_file *f, uint64_t volume_length, uint64_t logical, uint64_t physical,
		   uint64_t length);
/* Sets f->mapped. */
void fs_file_measure(struct fs_file *f);
void fs_file_clear(struct fs_file *f);
/* Bytes [offset, offset + length) of f: 0, -ENODATA beyond f->mapped, -EIO. */
int fs_file_read_at(struct volume *volume, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length);
/* Where the byte at offset, which is below f->mapped, is in the volume. */
uint64_t fs_file_place(const struct fs_file *f, uint64_t offset);

#endif
