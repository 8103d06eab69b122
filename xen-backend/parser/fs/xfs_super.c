// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks an XFS superblock before any of its fields is used, and turns block and inode numbers into
 * offsets; see xfs_super.h.  xfs_log.c and xfs_map.c call these functions.
 */
#include <errno.h>
#include <string.h>

#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_super.h"

#define MAGIC 0x58465342U /* XFSB */
#define VERSION_BITS 15U
#define VERSION_WITH_SUMS 5U
#define MIN_BLOCK 1024U
#define MAX_BLOCK 65536U
#define MIN_INODE 256U
#define MAX_INODE 2048U
#define MAX_GROUP_BYTES (UINT64_C(1) << 40)
#define MAX_LOG_BYTES (UINT64_C(1) << 31)
#define MIN_RECORD 32768U
#define MAX_RECORD 262144U

/* Features that change the structures read here. */
#define INCOMPAT_FTYPE 0x1U
#define INCOMPAT_META_UUID 0x4U
#define INCOMPAT_NEEDS_REPAIR 0x10U
/* FTYPE, sparse inodes, META_UUID, bigtime, NEEDS_REPAIR, large extent counts, exchange of
 * ranges, parent pointers. */
#define INCOMPAT_KNOWN 0xffU
#define LOG_INCOMPAT_KNOWN 0x1U /* extended attributes logged as intents */

enum at {
	AT_BLOCK_SIZE = 4,
	AT_BLOCKS = 8,
	AT_UUID = 32,
	AT_LOG_START = 48,
	AT_ROOT = 56,
	AT_GROUP_BLOCKS = 84,
	AT_LOG_BLOCKS = 96,
	AT_VERSION = 100,
	AT_SECTOR_SIZE = 102,
	AT_INODE_SIZE = 104,
	AT_BLOCK_LOG = 120,
	AT_INODE_LOG = 122,
	AT_INODES_LOG = 123,
	AT_GROUP_LOG = 124,
	AT_IN_PROGRESS = 126,
	AT_DIR_BLOCK_LOG = 192,
	AT_LOG_UNIT = 196,
	AT_INCOMPAT = 216,
	AT_LOG_INCOMPAT = 220,
	AT_SUM = 224,
	AT_META_UUID = 248,
};

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_log_of(uint8_t bits, uint32_t n)
{
	return bits < 32 && UINT32_C(1) << bits == n;
}

static bool sizes_valid(const uint8_t *raw, struct xfs_super *s)
{
	s->block_size = xfs_get32(raw + AT_BLOCK_SIZE);
	s->inode_size = xfs_get16(raw + AT_INODE_SIZE);
	s->inode_bits = raw[AT_INODES_LOG];
	if (!is_power(s->block_size) || s->block_size < MIN_BLOCK || s->block_size > MAX_BLOCK ||
	    !is_log_of(raw[AT_BLOCK_LOG], s->block_size))
		return false;
	if (!is_power(s->inode_size) || s->inode_size < MIN_INODE || s->inode_size > MAX_INODE ||
	    !is_log_of(raw[AT_INODE_LOG], s->inode_size))
		return false;
	if (!is_log_of(s->inode_bits, s->block_size / s->inode_size))
		return false;
	if (raw[AT_DIR_BLOCK_LOG] > 6)
		return false;
	s->dir_block_size = s->block_size << raw[AT_DIR_BLOCK_LOG];
	return s->dir_block_size <= MAX_BLOCK;
}

static bool groups_valid(const uint8_t *raw, struct xfs_super *s)
{
	s->group_blocks = xfs_get32(raw + AT_GROUP_BLOCKS);
	s->group_bits = raw[AT_GROUP_LOG];
	return s->group_blocks && s->group_bits < 32 &&
	       s->group_blocks <= UINT64_C(1) << s->group_bits &&
	       (s->group_bits == 0 || s->group_blocks > UINT64_C(1) << (s->group_bits - 1)) &&
	       (uint64_t)s->group_blocks * s->block_size <= MAX_GROUP_BYTES;
}

static bool log_valid(const uint8_t *raw, struct xfs_super *s)
{
	uint64_t bytes = (uint64_t)xfs_get32(raw + AT_LOG_BLOCKS) * s->block_size;
	uint32_t unit = xfs_get32(raw + AT_LOG_UNIT);

	if (!xfs_super_block(s, xfs_get64(raw + AT_LOG_START), &s->log_offset))
		return false;
	if (bytes < 2 * MAX_RECORD || bytes > MAX_LOG_BYTES || bytes > s->length - s->log_offset)
		return false;
	s->log_sectors = (uint32_t)(bytes / XFS_BASIC_BLOCK);
	s->log_record_bytes = unit > MIN_RECORD && unit <= MAX_RECORD ? unit : MIN_RECORD;
	return true;
}

static int features(const uint8_t *raw, const char **ret_reason)
{
	uint32_t incompat = xfs_get32(raw + AT_INCOMPAT);

	if (incompat & INCOMPAT_NEEDS_REPAIR)
		*ret_reason = "it is being repaired, or needs to be: run xfs_repair";
	else if ((incompat & ~INCOMPAT_KNOWN) || !(incompat & INCOMPAT_FTYPE))
		*ret_reason = "it has XFS features that vRead does not support";
	else if (xfs_get32(raw + AT_LOG_INCOMPAT) & ~LOG_INCOMPAT_KNOWN)
		*ret_reason = "its log has XFS features that vRead does not support";
	else if (xfs_get64(raw + AT_LOG_START) == 0)
		*ret_reason = "its log is on another device, which is not followed";
	else
		return 0;
	return -EOPNOTSUPP;
}

static int check_kind(const uint8_t *raw, uint32_t raw_length, struct xfs_super *ret,
		      const char **ret_reason)
{
	*ret_reason = "there is no XFS superblock";
	if (raw_length < XFS_SUPER_BYTES || xfs_get32(raw) != MAGIC)
		return -EIO;
	*ret_reason = "it is an XFS without checksums (version 4), which cannot be followed";
	if ((xfs_get16(raw + AT_VERSION) & VERSION_BITS) != VERSION_WITH_SUMS)
		return -EOPNOTSUPP;
	*ret_reason = "its superblock has an invalid sector size";
	ret->sector_size = xfs_get16(raw + AT_SECTOR_SIZE);
	if (!is_power(ret->sector_size) || ret->sector_size < XFS_SUPER_BYTES ||
	    ret->sector_size > XFS_MAX_SECTOR)
		return -EIO;
	*ret_reason = "its superblock's checksum is wrong";
	if (raw_length < ret->sector_size || !xfs_sum_right(raw, ret->sector_size, AT_SUM))
		return -EIO;
	*ret_reason = "mkfs.xfs did not finish";
	return raw[AT_IN_PROGRESS] ? -EIO : 0;
}

int xfs_super_parse(const uint8_t *raw, uint32_t raw_length, uint64_t length, struct xfs_super *ret,
		    const char **ret_reason)
{
	struct xfs_super s = {.length = length};
	int r = check_kind(raw, raw_length, &s, ret_reason);

	ret->sector_size = s.sector_size;
	if (r == 0)
		r = features(raw, ret_reason);
	if (r < 0)
		return r;
	*ret_reason = "its superblock has an invalid size of blocks or inodes";
	if (!sizes_valid(raw, &s))
		return -EIO;
	*ret_reason = "its superblock has invalid allocation groups";
	if (!groups_valid(raw, &s))
		return -EIO;
	*ret_reason = "its log does not lie in the image: it is truncated or damaged";
	if (!log_valid(raw, &s))
		return -EIO;
	s.root = xfs_get64(raw + AT_ROOT);
	memcpy(s.uuid, raw + AT_UUID, sizeof(s.uuid));
	memcpy(s.meta_uuid,
	       raw + (xfs_get32(raw + AT_INCOMPAT) & INCOMPAT_META_UUID ? AT_META_UUID : AT_UUID),
	       sizeof(s.meta_uuid));
	*ret = s;
	return 0;
}

uint64_t xfs_super_bytes(const uint8_t raw[XFS_SUPER_BYTES])
{
	uint64_t bytes;

	if (xfs_get32(raw) != MAGIC ||
	    __builtin_mul_overflow(xfs_get64(raw + AT_BLOCKS), xfs_get32(raw + AT_BLOCK_SIZE),
				   &bytes))
		return 0;
	return bytes;
}

static bool place(const struct xfs_super *s, uint64_t group, uint64_t in_group, uint64_t *ret)
{
	uint64_t blocks = s->length / s->block_size;

	if (in_group >= s->group_blocks || group > blocks / s->group_blocks)
		return false;
	in_group += group * s->group_blocks;
	*ret = in_group * s->block_size;
	return in_group < blocks;
}

bool xfs_super_block(const struct xfs_super *s, uint64_t block, uint64_t *ret)
{
	return place(s, block >> s->group_bits, block & ((UINT64_C(1) << s->group_bits) - 1), ret);
}

bool xfs_super_inode(const struct xfs_super *s, uint64_t inode, uint64_t *ret)
{
	if (!xfs_super_block(s, inode >> s->inode_bits, ret))
		return false;
	*ret += (inode & ((UINT64_C(1) << s->inode_bits) - 1)) * s->inode_size;
	return true;
}
