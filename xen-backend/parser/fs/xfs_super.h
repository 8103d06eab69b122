/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_super.h - an XFS's superblock: its geometry, and whether it can be read; private to
 * fs/.
 *
 * A place in the file system has an allocation group's number above a number in
 * the group, with more bits than the group has blocks.  Groups lie one behind the
 * other; none of that ever changes while a file system grows.
 */
#ifndef VREAD_FS_XFS_SUPER_H
#define VREAD_FS_XFS_SUPER_H

#include <stdbool.h>
#include <stdint.h>

#define XFS_SUPER_BYTES 512U /* what is looked at; its sum covers a sector */
#define XFS_MAX_SECTOR 32768U
#define XFS_BASIC_BLOCK 512U /* in which the log, and places of buffers, are counted */

struct xfs_super {
	uint32_t block_size, sector_size, inode_size;
	uint32_t group_blocks;
	uint32_t dir_block_size;
	uint8_t group_bits,
		inode_bits;        /* of a block's number in its group, an inode's in its block */
	uint8_t uuid[16];          /* what users see; in the log */
	uint8_t meta_uuid[16];     /* in metadata */
	uint64_t length;           /* bytes of the volume that may be read */
	uint64_t root;             /* inode */
	uint64_t log_offset;       /* bytes */
	uint32_t log_sectors;      /* of 512 bytes */
	uint32_t log_record_bytes; /* that its owner writes at once, unless a record says more */
};

/*
 * Pure: raw is a sector, or as much of one as there is.  0; -EIO it is damaged or makes no sense
 * in a volume of length bytes; -EOPNOTSUPP it has what is not read here; *ret_reason says
 * which.  The size of the sector is in ret->sector_size also if only its sum is wrong.
 */
int xfs_super_parse(const uint8_t *raw, uint32_t raw_length, uint64_t length, struct xfs_super *ret,
		    const char **ret_reason);

/* Bytes from the start of the volume.  false: there is no such inode, or block. */
bool xfs_super_inode(const struct xfs_super *s, uint64_t inode, uint64_t *ret);
bool xfs_super_block(const struct xfs_super *s, uint64_t block, uint64_t *ret);

#endif
