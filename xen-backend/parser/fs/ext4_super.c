// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks a superblock before anything is allocated according to its fields; see ext4.h.  ext4.c,
 * ext4_live.c and parser/disks/partition.c call ext4_super_parse().  libext2fs checks the rest: the
 * checksum, and features that libext2fs does not know.
 */
#include <endian.h>
#include <string.h>

#include "parser/fs/ext4.h"

/* Enough for 128 TiB in 4 KiB blocks.  Descriptors that a view reads count against its budget. */
#define MAX_DESCRIPTOR_BYTES (64U << 20)

static bool wrong(const char **ret_reason, const char *reason)
{
	*ret_reason = reason;
	return false;
}

static bool measure_groups(const struct ext2_super_block *sb, struct ext4_super *s)
{
	uint32_t per_group = le32toh(sb->s_blocks_per_group);
	uint32_t desc = 32;
	uint64_t groups;

	if (per_group < 8)
		return false;
	if (le32toh(sb->s_feature_incompat) & EXT4_FEATURE_INCOMPAT_64BIT)
		desc = le16toh(sb->s_desc_size);
	if (desc < 32 || desc > 1024)
		return false;
	groups = s->blocks / per_group + 1;
	if (groups > MAX_DESCRIPTOR_BYTES / desc)
		return false;
	s->descriptor_bytes = (uint32_t)groups * desc;
	return true;
}

/* True if the superblock tells of data=writeback.  Then ext4 reuses freed blocks before the
 * transaction that freed the blocks is committed. */
static bool is_writeback(const struct ext2_super_block *sb)
{
	uint32_t mode = le32toh(sb->s_default_mount_opts) & EXT3_DEFM_JMODE;

	return mode == EXT3_DEFM_JMODE_WBACK ||
	       memmem(sb->s_mount_opts, sizeof(sb->s_mount_opts), "data=writeback", 14);
}

static enum fs_state refused(const char **ret_reason, const char *reason)
{
	*ret_reason = reason;
	return FS_REFUSED;
}

static enum fs_state state_of(const struct ext2_super_block *sb, const char **ret_reason)
{
	uint16_t state = le16toh(sb->s_state);
	bool recover = le32toh(sb->s_feature_incompat) & EXT3_FEATURE_INCOMPAT_RECOVER;

	if (state & EXT2_ERROR_FS)
		return refused(ret_reason, "it has errors: let its owner run e2fsck");
	if (!recover && (state & EXT2_VALID_FS))
		return FS_CLEAN;
	if (!(le32toh(sb->s_feature_compat) & EXT3_FEATURE_COMPAT_HAS_JOURNAL))
		return refused(ret_reason, "it is in use and has no journal");
	if (sb->s_journal_dev || !sb->s_journal_inum)
		return refused(ret_reason, "it is in use and its journal is on another device");
	if (!recover)
		return refused(ret_reason,
			       "it was not cleanly unmounted: let its owner run e2fsck");
	if (is_writeback(sb))
		return refused(ret_reason, "it is in use with data=writeback");
	return FS_LIVE;
}

static uint64_t time_of(uint32_t low, uint8_t high)
{
	return (uint64_t)high << 32 | le32toh(low);
}

static struct ext4_mount mount_of(const struct ext2_super_block *sb)
{
	return (struct ext4_mount){
		.made = time_of(sb->s_mkfs_time, sb->s_mkfs_time_hi),
		.checked = time_of(sb->s_lastcheck, sb->s_lastcheck_hi),
		.mounted = time_of(sb->s_mtime, sb->s_mtime_hi),
		.times = le16toh(sb->s_mnt_count),
		.journal_inode = le32toh(sb->s_journal_inum),
	};
}

bool ext4_super_parse(const uint8_t raw[FS_SUPER_BYTES], uint64_t length, struct ext4_super *ret,
		      const char **ret_reason)
{
	struct ext2_super_block sb;
	struct ext4_super s = {0};
	uint32_t incompat, log_size;

	memcpy(&sb, raw, sizeof(sb));
	if (le16toh(sb.s_magic) != EXT2_SUPER_MAGIC)
		return wrong(ret_reason, "there is no ext4 superblock");
	incompat = le32toh(sb.s_feature_incompat);
	log_size = le32toh(sb.s_log_block_size);
	if (log_size > 6)
		return wrong(ret_reason, "its superblock names a block size above 64 KiB");
	s.block_size = 1024U << log_size;
	s.blocks = le32toh(sb.s_blocks_count);
	if (incompat & EXT4_FEATURE_INCOMPAT_64BIT)
		s.blocks |= (uint64_t)le32toh(sb.s_blocks_count_hi) << 32;
	if (s.blocks < 8 || s.blocks <= le32toh(sb.s_first_data_block))
		return wrong(ret_reason, "its superblock names an invalid number of blocks");
	if (s.blocks > length / s.block_size)
		return wrong(ret_reason, "it is longer than its volume: the image is truncated");
	s.inode_size = le32toh(sb.s_rev_level) == EXT2_GOOD_OLD_REV ? EXT2_GOOD_OLD_INODE_SIZE
								    : le16toh(sb.s_inode_size);
	if (s.inode_size < EXT2_GOOD_OLD_INODE_SIZE || s.inode_size > s.block_size ||
	    (s.inode_size & (s.inode_size - 1)))
		return wrong(ret_reason, "its superblock names an invalid inode size");
	if (le32toh(sb.s_inodes_per_group) == 0 || !measure_groups(&sb, &s))
		return wrong(ret_reason, "its superblock names invalid block groups");
	memcpy(s.uuid, sb.s_uuid, sizeof(s.uuid));
	s.journal_inode = le32toh(sb.s_journal_inum);
	s.state = state_of(&sb, &s.refusal);
	s.mount = mount_of(&sb);
	*ret = s;
	return true;
}
