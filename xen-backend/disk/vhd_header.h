/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vhd_header.h - what a VHD file says of itself: its footer, and a dynamic one's header.
 *
 * Pure functions over bytes.
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
	uint64_t size;          /* of the disk */
	uint64_t header_offset; /* dynamic */
};

/* Of a dynamic file. */
struct vhd_header {
	uint64_t table_offset; /* of the block allocation table */
	uint32_t blocks;       /* entries of the table */
	uint32_t block_bytes;
	uint32_t bitmap_bytes; /* before each block: a bit per sector */
};

/* Whether it is a footer at all, right or wrong. */
bool vhd_is_footer(const uint8_t raw[VHD_FOOTER_BYTES]);

/* NULL, or why it cannot be read: a static text, to follow the file's name. */
const char *vhd_footer_parse(const uint8_t raw[VHD_FOOTER_BYTES], struct vhd_footer *ret);
const char *vhd_header_parse(const uint8_t raw[VHD_HEADER_BYTES], uint64_t disk_size,
			     struct vhd_header *ret);

#endif
