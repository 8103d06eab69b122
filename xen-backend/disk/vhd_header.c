// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses footers and headers of VHD files; see vhd_header.h, and Microsoft's "Virtual Hard Disk
 * Image Format Specification".  disk/vhd.c calls it.
 */
#include "disk/vhd_header.h"

#include "disk/big_endian.h"

enum {
	AT_FOOTER_HEADER = 16,
	AT_FOOTER_SIZE = 48,
	AT_FOOTER_TYPE = 60,
	AT_FOOTER_SUM = 64,
	AT_HEADER_TABLE = 16,
	AT_HEADER_BLOCKS = 28,
	AT_HEADER_BLOCK_BYTES = 32,
	AT_HEADER_SUM = 36,
};

enum { TYPE_FIXED = 2, TYPE_DYNAMIC = 3, TYPE_DIFFERENCING = 4 };

#define MAX_SIZE (UINT64_C(1) << 53)
#define MIN_BLOCK_BYTES 4096U
#define MAX_BLOCK_BYTES (256U << 20)

/* True if the checksum at `at` is the complement of the sum of all bytes except its own four. */
static bool sum_is_right(const uint8_t *raw, size_t length, size_t at)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < length; i++)
		if (i < at || i >= at + 4)
			sum += raw[i];
	return get32(raw + at) == ~sum;
}

bool vhd_is_footer(const uint8_t raw[VHD_FOOTER_BYTES])
{
	return !memcmp(raw, "conectix", 8);
}

const char *vhd_footer_parse(const uint8_t raw[VHD_FOOTER_BYTES], struct vhd_footer *ret)
{
	uint32_t type = get32(raw + AT_FOOTER_TYPE);

	if (!vhd_is_footer(raw))
		return "it is not a VHD file, or it is truncated";
	if (!sum_is_right(raw, VHD_FOOTER_BYTES, AT_FOOTER_SUM))
		return "its footer is damaged: the checksum is wrong";
	if (type == TYPE_DIFFERENCING)
		return "it is a differencing VHD, which vRead does not support; merge it with its "
		       "parent";
	if (type != TYPE_FIXED && type != TYPE_DYNAMIC)
		return "its VHD type is not supported; expected fixed or dynamic";
	ret->dynamic = type == TYPE_DYNAMIC;
	ret->size = get64(raw + AT_FOOTER_SIZE);
	ret->header_offset = get64(raw + AT_FOOTER_HEADER);
	if (ret->size == 0)
		return "its disk is empty (0 bytes)";
	if (ret->size > MAX_SIZE || ret->size % VHD_SECTOR)
		return "the size of its disk is invalid";
	if (ret->dynamic && ret->header_offset > INT64_MAX - VHD_HEADER_BYTES)
		return "its header is at an invalid offset";
	return NULL;
}

const char *vhd_header_parse(const uint8_t raw[VHD_HEADER_BYTES], uint64_t disk_size,
			     struct vhd_header *ret)
{
	uint32_t sectors;

	if (memcmp(raw, "cxsparse", 8) || !sum_is_right(raw, VHD_HEADER_BYTES, AT_HEADER_SUM))
		return "its header is damaged";
	ret->table_offset = get64(raw + AT_HEADER_TABLE);
	ret->blocks = get32(raw + AT_HEADER_BLOCKS);
	ret->block_bytes = get32(raw + AT_HEADER_BLOCK_BYTES);
	if (ret->block_bytes < MIN_BLOCK_BYTES || ret->block_bytes > MAX_BLOCK_BYTES ||
	    ret->block_bytes & (ret->block_bytes - 1))
		return "its block size is invalid";
	if ((disk_size + ret->block_bytes - 1) / ret->block_bytes > ret->blocks)
		return "its block table is too short for the size of its disk";
	if (ret->table_offset > INT64_MAX - 4 * (uint64_t)UINT32_MAX)
		return "its block table is at an invalid offset";
	sectors = ret->block_bytes / VHD_SECTOR;
	ret->bitmap_bytes = (sectors / 8 + VHD_SECTOR - 1) / VHD_SECTOR * VHD_SECTOR;
	return NULL;
}
