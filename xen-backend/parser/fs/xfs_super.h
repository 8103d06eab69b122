/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_super.h - parses and checks an XFS superblock, and turns block and inode numbers into
 * offsets; private to fs/.  xfs_log.c and xfs_map.c call it.
 *
 * A block number has the number of an allocation group in its upper bits and a number in the group
 * in its lower bits.  The lower part may have more values than a group has blocks.  Allocation
 * groups lie one after the other in the volume.  This layout does not change when the file system
 * grows.
 */
#ifndef VREAD_FS_XFS_SUPER_H
#define VREAD_FS_XFS_SUPER_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_SUPER_BYTES 512U /* bytes that are used; the checksum covers a sector */
#define XFS_MAX_SECTOR 32768U
#define XFS_BASIC_BLOCK 512U /* unit of places in the log and of buffers, in bytes */

struct xfs_super {
	uint32_t block_size, sector_size, inode_size;
	uint32_t group_blocks;
	uint32_t dir_block_size;
	uint8_t group_bits,
		inode_bits;    /* bits of a block's number in its group, an inode's in its block */
	uint8_t uuid[16];      /* the UUID that users see; also in the log */
	uint8_t meta_uuid[16]; /* the UUID in metadata */
	uint64_t length;       /* bytes of the volume that may be read */
	uint64_t root;         /* inode number of the root directory */
	uint64_t log_offset;   /* bytes */
	uint32_t log_sectors;  /* of 512 bytes */
	uint32_t log_record_bytes; /* bytes of one write of the owner, unless a record says more */
};

/*
 * Pure.  raw is a sector, or as much of the sector as was read.  0; -EIO: the superblock is
 * damaged, or makes no sense in a volume of length bytes; -EOPNOTSUPP: the file system has features
 * that this code does not read.  On error *ret_reason says why.  ret->sector_size is also set if
 * only the checksum is wrong.
 */
int xfs_super_parse(const uint8_t *raw, uint32_t raw_length, uint64_t length, struct xfs_super *ret,
		    const char **ret_reason);

/* Pure.  The bytes that the file system has, unchecked.  0: raw is no superblock. */
uint64_t xfs_super_bytes(const uint8_t raw[XFS_SUPER_BYTES]);

/* Set *ret to the offset of an inode or block in the volume, in bytes.  false: no such inode or
 * block. */
bool xfs_super_inode(const struct xfs_super *s, uint64_t inode, uint64_t *ret);
bool xfs_super_block(const struct xfs_super *s, uint64_t block, uint64_t *ret);

#endif
