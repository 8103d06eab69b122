/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vhd_header.h - parses the footer of a VHD file, and the header of a dynamic or differencing VHD
 * file.  disk/vhd.c calls it.
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
#define VHD_ID_BYTES 16U
#define VHD_LOCATORS 8U
#define VHD_NAME_BYTES 1024U /* most bytes of a locator */

struct vhd_footer {
	bool dynamic;           /* it has blocks: a dynamic or differencing file */
	bool differencing;      /* what is not in its blocks is in its parent */
	uint64_t size;          /* bytes of the disk */
	uint64_t header_offset; /* of a dynamic file: bytes, in the file */
	uint8_t id[VHD_ID_BYTES];
};

/* One of the ways in which a differencing file names its parent. */
struct vhd_locator {
	uint8_t platform[4]; /* "MacX": a URL in UTF-8; "W2ru": a relative path in UTF-16LE */
	uint32_t length;     /* bytes of the name */
	uint64_t offset;     /* of the name, in the file */
};

/* The header of a dynamic file. */
struct vhd_header {
	uint64_t table_offset; /* of the block allocation table */
	uint32_t blocks;       /* entries of the table */
	uint32_t block_bytes;
	uint32_t bitmap_bytes; /* of the bitmap before each block, a bit per sector */
	uint8_t parent_id[VHD_ID_BYTES];
	struct vhd_locator locators[VHD_LOCATORS];
};

/* True if raw has the cookie of a footer.  The footer may still be damaged. */
bool vhd_is_footer(const uint8_t raw[VHD_FOOTER_BYTES]);

/* Returns NULL, or why the file cannot be read: a static string that continues a message after the
 * file's name. */
const char *vhd_footer_parse(const uint8_t raw[VHD_FOOTER_BYTES], struct vhd_footer *ret);
const char *vhd_header_parse(const uint8_t raw[VHD_HEADER_BYTES], uint64_t disk_size,
			     struct vhd_header *ret);

/* True if vhd_parent_path() knows the locator's platform. */
bool vhd_locator_is_known(const struct vhd_locator *l);
/* Decodes the name at a known locator, l->length bytes, to a path with slashes.  False: it is no
 * path in ASCII or UTF-8, or too long. */
bool vhd_parent_path(const struct vhd_locator *l, const uint8_t *name,
		     char ret_path[VHD_NAME_BYTES + 1]);

#endif
