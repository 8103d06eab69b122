/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_format.h - fields of XFS's on-disk structures, and XFS's checksums; private to fs/.  The
 * xfs_*.c files use it.
 *
 * All structures except the contents of log items are big-endian (xfs_get*()).  Contents of log
 * items have the byte order of the owner's processor.  Only logs of little-endian owners are read
 * (xfs_item_get*()).
 */
#ifndef VREAD_FS_XFS_FORMAT_H
#define VREAD_FS_XFS_FORMAT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t xfs_get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static inline uint32_t xfs_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static inline uint64_t xfs_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static inline uint16_t xfs_item_get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t xfs_item_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t xfs_item_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

/* A CRC32C as XFS computes it: begin with XFS_SUM_SEED, add data with xfs_sum_add(), and invert the
 * last result. */
#define XFS_SUM_SEED UINT32_MAX
uint32_t xfs_sum_add(uint32_t sum, const uint8_t *data, size_t length);
/* True if the four bytes at sum_at are the checksum of data with these four bytes as 0. */
bool xfs_sum_right(const uint8_t *data, size_t length, size_t sum_at);

/* Offsets in an inode (version 3).  The inode core in a log item has the same offsets. */
#define XFS_INODE_MAGIC 0x494eU
#define XFS_INODE_CORE_BYTES 176U
#define XFS_INODE_MODE 2U
#define XFS_INODE_VERSION 4U
#define XFS_INODE_FORMAT 5U
#define XFS_INODE_LINKS 16U
#define XFS_INODE_BIG_EXTENTS 24U
#define XFS_INODE_SIZE 56U
#define XFS_INODE_EXTENTS 76U
#define XFS_INODE_FORK_OFFSET 82U
#define XFS_INODE_FLAGS 90U
#define XFS_INODE_GENERATION 92U
#define XFS_INODE_SUM 100U
#define XFS_INODE_FLAGS2 120U
#define XFS_INODE_NUMBER 152U
#define XFS_INODE_UUID 160U

#define XFS_INODE_REALTIME 1U      /* a bit in XFS_INODE_FLAGS */
#define XFS_INODE_BIG_COUNTS 0x10U /* a bit in XFS_INODE_FLAGS2 */

enum xfs_fork_format { XFS_FORK_DEVICE, XFS_FORK_LOCAL, XFS_FORK_EXTENTS, XFS_FORK_BTREE };

/* A block of the B+tree of a file's extents. */
#define XFS_TREE_MAGIC 0x424d4133U /* BMA3 */
#define XFS_TREE_HEADER 72U
#define XFS_TREE_SUM 64U

/* A block of a directory. */
#define XFS_DIR_BLOCK_MAGIC 0x58444233U /* XDB3: the directory's only block, with an index */
#define XFS_DIR_DATA_MAGIC 0x58444433U  /* XDD3 */
#define XFS_DIR_HEADER 64U
#define XFS_DIR_SUM 4U
#define XFS_DIR_DATA_END (UINT64_C(1) << 35) /* offset in the directory where indexes begin */

#endif
