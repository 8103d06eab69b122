/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vhd_header.h - parses the footer of a VHD file, and the header of a dynamic VHD file.  disk/vhd.c
 * calls it.
 *
 * All functions are pure functions over bytes.
 */
#ifndef VREAD_DISK_VHD_HEADER_H
#define VREAD_DISK_VHD_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VHD_FOOTER_BYTES 512U
#define VHD_HEADER_BYTES 1024U
#define VHD_SECTOR 512U

struct vhd_footer {
	bool dynamic;
	uint64_t size;          /* bytes of the disk */
	uint64_t header_offset; /* of a dynamic file: bytes, in the file */
};

/* The header of a dynamic file. */
struct vhd_header {
	uint64_t table_offset; /* of the block allocation table */
	uint32_t blocks;       /* entries of the table */
	uint32_t block_bytes;
	uint32_t bitmap_bytes; /* of the bitmap before each block, a bit per sector */
};

/* True if raw has the cookie of a footer.  The footer may still be damaged. */
bool vhd_is_footer(const uint8_t raw[VHD_FOOTER_BYTES]);

/* Returns NULL, or why the file cannot be read: a static string that continues a message after the
 * file's name. */
const char *vhd_footer_parse(const uint8_t raw[VHD_FOOTER_BYTES], struct vhd_footer *ret);
const char *vhd_header_parse(const uint8_t raw[VHD_HEADER_BYTES], uint64_t disk_size,
			     struct vhd_header *ret);

#endif
