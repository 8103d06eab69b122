/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h - a file in a guest's file system, as byte ranges of its volume. A parser finds the
 * ranges (parser/fs/); vreadd reads the bytes (datanode/client.c, read/).
 *
 * vreadd checks an answer while it puts the ranges together: fs_file_extend() refuses a range
 * outside the volume.
 *
 * A hole is a range of the file that lies in no extent. A hole reads as zeros, as it does in the
 * guest's kernel. While the owner has the file system mounted, the bytes of a hole may be in the
 * owner's memory only. So a reader must verify zeros by the block's checksums, as it does other
 * bytes.
 *
 * Threads: any number of threads may use a file that nobody changes.
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

#define FS_HOLE UINT64_MAX /* the physical place of a hole */

struct fs_file {
	uint64_t size;
	unsigned num_extents;
	struct fs_extent *extents; /* ascending, without overlap, inside the file system */
	uint8_t *content;          /* all size bytes, if they lie in metadata; else NULL */
	/* A new file may get the inode of a deleted file, but not the generation. */
	uint64_t inode;
	uint32_t generation;
};

/* Appends a range to f->extents, merged with the last one if they are adjacent. Returns 0,
 * -ENOMEM, or -EIO: `length` is 0, the range does not ascend, it is not inside a volume of
 * `volume_length` bytes, or there are FS_MAX_EXTENTS already. */
int fs_file_extend(struct fs_file *f, uint64_t volume_length, uint64_t logical, uint64_t physical,
		   uint64_t length);
/* Frees what `f` owns and sets it to zeros. */
void fs_file_clear(struct fs_file *f);
/* Returns the part of [offset, end) that begins at `offset` and lies in one extent or one hole.
 * `offset` must be below `end`, and the file must not have its content here. */
struct fs_extent fs_file_piece(const struct fs_file *f, uint64_t offset, uint64_t end);
/* Returns the first offset in [start, end) of `f` that lies in a hole; `end` if none does. */
uint64_t fs_file_first_hole(const struct fs_file *f, uint64_t start, uint64_t end);
/* Reads bytes [offset, offset + length) of `f` into `buf`. Returns 0, -ENODATA if they go beyond
 * f->size, or an error of volume_read(). */
int fs_file_read_at(struct volume *volume, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length);

#endif
