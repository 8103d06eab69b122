// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses footers and headers of VHD files; see vhd_header.h, and Microsoft's "Virtual Hard Disk
 * Image Format Specification".  disk/vhd.c calls it.
 *
 * The specification does not say how paths outside Windows are written.  blktap's libvhd, by which
 * XenServer makes its snapshots, writes "file://" and the path as it is, without escapes.
 */
#include "disk/vhd_header.h"

#include "disk/big_endian.h"

enum {
	AT_FOOTER_HEADER = 16,
	AT_FOOTER_SIZE = 48,
	AT_FOOTER_TYPE = 60,
	AT_FOOTER_SUM = 64,
	AT_FOOTER_ID = 68,
	AT_HEADER_TABLE = 16,
	AT_HEADER_BLOCKS = 28,
	AT_HEADER_BLOCK_BYTES = 32,
	AT_HEADER_SUM = 36,
	AT_HEADER_PARENT = 40,
	AT_HEADER_LOCATORS = 576,
	LOCATOR_BYTES = 24,
	AT_LOCATOR_LENGTH = 8,
	AT_LOCATOR_OFFSET = 16,
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
	if (type != TYPE_FIXED && type != TYPE_DYNAMIC && type != TYPE_DIFFERENCING)
		return "its VHD type is not supported; expected fixed, dynamic or differencing";
	ret->dynamic = type != TYPE_FIXED;
	ret->differencing = type == TYPE_DIFFERENCING;
	memcpy(ret->id, raw + AT_FOOTER_ID, VHD_ID_BYTES);
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

static void parse_locators(const uint8_t *raw, struct vhd_locator ret[VHD_LOCATORS])
{
	for (unsigned i = 0; i < VHD_LOCATORS; i++, raw += LOCATOR_BYTES) {
		memcpy(ret[i].platform, raw, sizeof(ret[i].platform));
		ret[i].length = get32(raw + AT_LOCATOR_LENGTH);
		ret[i].offset = get64(raw + AT_LOCATOR_OFFSET);
	}
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
	memcpy(ret->parent_id, raw + AT_HEADER_PARENT, VHD_ID_BYTES);
	parse_locators(raw + AT_HEADER_LOCATORS, ret->locators);
	sectors = ret->block_bytes / VHD_SECTOR;
	ret->bitmap_bytes = (sectors / 8 + VHD_SECTOR - 1) / VHD_SECTOR * VHD_SECTOR;
	return NULL;
}

static bool is_for(const struct vhd_locator *l, const char platform[4])
{
	return !memcmp(l->platform, platform, sizeof(l->platform));
}

bool vhd_locator_is_known(const struct vhd_locator *l)
{
	return is_for(l, "MacX") || is_for(l, "W2ru");
}

/* Takes a URL without the "file://". */
static size_t decode_url(const uint8_t *name, size_t length, char *ret)
{
	static const char scheme[] = "file://";
	size_t skip = strlen(scheme);

	if (length <= skip || memcmp(name, scheme, skip))
		return 0;
	memcpy(ret, name + skip, length - skip);
	return length - skip;
}

/* Takes ASCII in UTF-16LE, with backslashes. */
static size_t decode_windows(const uint8_t *name, size_t length, char *ret)
{
	size_t count = length / 2;

	for (size_t i = 0; i < count; i++) {
		if (name[2 * i] >= 0x80 || name[2 * i + 1])
			return 0;
		ret[i] = name[2 * i] == '\\' ? '/' : (char)name[2 * i];
	}
	return length % 2 ? 0 : count;
}

bool vhd_parent_path(const struct vhd_locator *l, const uint8_t *name,
		     char ret_path[VHD_NAME_BYTES + 1])
{
	size_t length = 0;

	if (l->length <= VHD_NAME_BYTES)
		length = is_for(l, "MacX") ? decode_url(name, l->length, ret_path)
					   : decode_windows(name, l->length, ret_path);
	ret_path[length] = '\0';
	return length > 0 && strlen(ret_path) == length;
}
