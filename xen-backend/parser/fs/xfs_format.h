/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_format.h - fields of XFS's structures on disk, and their checksums; private to fs/.
 *
 * All but the contents of log items is big-endian; those are as the owner's
 * processor has them, and only little-endian owners are read.
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

/* A CRC32C begun, carried on and ended as XFS does: before the last step it is not inverted. */
#define XFS_SUM_SEED UINT32_MAX
uint32_t xfs_sum_add(uint32_t sum, const uint8_t *data, size_t length);
/* Whether the four bytes at sum_at hold the sum of all others. */
bool xfs_sum_right(const uint8_t *data, size_t length, size_t sum_at);

/* An inode (version 3); in the log its core has the same places. */
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

#define XFS_INODE_REALTIME 1U      /* in its flags */
#define XFS_INODE_BIG_COUNTS 0x10U /* in its second flags */

enum xfs_fork_format { XFS_FORK_DEVICE, XFS_FORK_LOCAL, XFS_FORK_EXTENTS, XFS_FORK_BTREE };

/* A block of the tree of a file's extents. */
#define XFS_TREE_MAGIC 0x424d4133U /* BMA3 */
#define XFS_TREE_HEADER 72U
#define XFS_TREE_SUM 64U

/* A block of a directory. */
#define XFS_DIR_BLOCK_MAGIC 0x58444233U /* XDB3: all there is, with its own index */
#define XFS_DIR_DATA_MAGIC 0x58444433U  /* XDD3 */
#define XFS_DIR_HEADER 64U
#define XFS_DIR_SUM 4U
#define XFS_DIR_DATA_END (UINT64_C(1) << 35) /* in the directory: from there on there are indexes */

#endif
