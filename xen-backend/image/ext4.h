/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4.h - the ext2/3/4 reader, on libext2fs; private to image/.
 *
 * ext4_super.c checks a superblock before libext2fs sees it, ext4_io.c feeds
 * libext2fs from the image, ext4_map.c turns an inode into extents, ext4.c ties
 * them to fs_impl.h.
 *
 * What is read is the home location of the metadata.  A mounted file system
 * keeps committed changes in its journal for up to half a minute before they
 * get there, and may reuse a deleted file's blocks before that: hence the
 * stamps of fs.h.
 */
#ifndef VREAD_IMAGE_EXT4_H
#define VREAD_IMAGE_EXT4_H

#include <ext2fs/ext2fs.h>

#include "image/fs_impl.h"

#define EXT4_SUPER_OFFSET 1024U

extern const struct fs_ops ext4_ops;

struct ext4_super {
	uint64_t blocks;
	uint32_t block_size;
	uint32_t inode_size;
	uint32_t descriptor_bytes; /* of all block groups; at most 64 MiB */
	uint8_t uuid[16];
	bool quiescent; /* cleanly unmounted, journal empty */
};

/* Pure: checks the fields that decide how much libext2fs allocates and reads, for a
 * file system in length bytes.  false: *ret_reason says which is wrong. */
bool ext4_super_parse(const uint8_t raw[FS_SUPER_BYTES], uint64_t length, struct ext4_super *ret,
		      const char **ret_reason);

struct ext4_view {
	struct fs_view view; /* first: see fs_impl.h */
	struct ext4_super super;
	uint8_t raw_super[FS_SUPER_BYTES]; /* the one copy that is checked and used */
	uint64_t budget;                   /* bytes of metadata this view may still read */
	ext2_filsys filsys;
};

/* Opens v->filsys over the image.  v->raw_super must be filled. */
errcode_t ext4_io_open(struct ext4_view *v);
/* Metadata as libext2fs sees it; offset from the start of the file system. */
int ext4_io_read(struct ext4_view *v, uint64_t offset, void *buf, size_t length);

int ext4_map(struct ext4_view *v, ext2_ino_t inode, struct fs_file *ret);
int ext4_errno(errcode_t error);

#endif
