// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads inodes and buffers out of log items and applies them; see xfs_item.h.  xfs_log.c calls
 * these functions.  Items of other types change neither inodes nor buffers and are skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_item.h"
#include "parser/fs/xfs_overlay.h"

enum item_type {
	ITEM_FIRST_INTENT = 0x1236, /* extents will be freed; 0x1237: were freed */
	ITEM_LAST_EARLY_INTENT = 0x1237,
	ITEM_INODE = 0x123b,
	ITEM_BUFFER = 0x123c,
	ITEM_QUOTA = 0x123d,
	ITEM_QUOTA_OFF = 0x123e,
	ITEM_NEW_INODES = 0x123f, /* nothing refers to a new inode before its own item */
	ITEM_FIRST_LATE_INTENT = 0x1240,
	ITEM_LAST_LATE_INTENT = 0x1249,
};

/* ---- inodes ---- */

#define INODE_FORMAT_BYTES 56U
#define INODE_FORMAT_BYTES_32 52U /* written by 32-bit owners */
#define FIELDS_AT 4U
#define NUMBER_AT 16U
#define NUMBER_AT_32 12U
#define FIELD_LOCAL 0x002U
#define FIELD_EXTENTS 0x004U
#define FIELD_ROOT 0x008U
#define FIELD_FORK (FIELD_LOCAL | FIELD_EXTENTS | FIELD_ROOT)
#define FIELD_OWNERS 0x600U
#define MAX_FORK 65536U

/* Layout of an item for xfs_item_lay_on_inode(): fields, core, fork. */
#define KEPT_CORE 4U
#define KEPT_FORK (KEPT_CORE + XFS_INODE_CORE_BYTES)

static int take_inode(const struct xfs_region *regions, unsigned count, bool *ret_owners,
		      xfs_item_cb *cb, void *ctx)
{
	uint32_t fields, fork = 0;
	uint64_t number;
	uint8_t *item;

	if (regions[0].length != INODE_FORMAT_BYTES && regions[0].length != INODE_FORMAT_BYTES_32)
		return -EOPNOTSUPP;
	fields = xfs_item_get32(regions[0].data + FIELDS_AT);
	number = xfs_item_get64(regions[0].data + (regions[0].length == INODE_FORMAT_BYTES
							   ? NUMBER_AT
							   : NUMBER_AT_32));
	if (count < 2 || regions[1].length < XFS_INODE_CORE_BYTES || (number & XFS_KEY_INODE))
		return -EOPNOTSUPP;
	if (fields & FIELD_FORK) {
		if (count < 3 || regions[2].length > MAX_FORK)
			return -EOPNOTSUPP;
		fork = regions[2].length;
	}
	item = malloc(KEPT_FORK + fork);
	if (!item)
		return -ENOMEM;
	memcpy(item, &fields, sizeof(fields));
	memcpy(item + KEPT_CORE, regions[1].data, XFS_INODE_CORE_BYTES);
	if (fork)
		memcpy(item + KEPT_FORK, regions[2].data, fork);
	*ret_owners |= (fields & FIELD_OWNERS) != 0;
	return cb(ctx, XFS_KEY_INODE | number, item, KEPT_FORK + fork);
}

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

/* Copies the core in an item to inode.  Converts all fields that are read here to big-endian. */
static void lay_core(const uint8_t *core, uint8_t *inode)
{
	static const uint8_t at16[] = {0, XFS_INODE_MODE, XFS_INODE_FLAGS};
	static const uint8_t at32[] = {XFS_INODE_LINKS, XFS_INODE_EXTENTS, XFS_INODE_GENERATION};
	static const uint8_t at64[] = {XFS_INODE_BIG_EXTENTS, XFS_INODE_SIZE, XFS_INODE_FLAGS2,
				       XFS_INODE_NUMBER};

	/* First the fields without a byte order. */
	memcpy(inode, core, XFS_INODE_CORE_BYTES);
	for (size_t i = 0; i < sizeof(at16); i++)
		put16(inode + at16[i], xfs_item_get16(core + at16[i]));
	for (size_t i = 0; i < sizeof(at32); i++)
		put32(inode + at32[i], xfs_item_get32(core + at32[i]));
	for (size_t i = 0; i < sizeof(at64); i++)
		put64(inode + at64[i], xfs_item_get64(core + at64[i]));
}

static uint32_t fork_room(const struct xfs_super *s, const uint8_t *inode)
{
	uint32_t whole = s->inode_size - XFS_INODE_CORE_BYTES;
	uint32_t attributes = inode[XFS_INODE_FORK_OFFSET] * 8U;

	return attributes && attributes < whole ? attributes : whole;
}

/* Converts the root of an extent tree.  In the item the root has the header of a tree block; in the
 * inode the root has a header of four bytes. */
static int lay_root(const uint8_t *fork, uint32_t size, uint32_t room, uint8_t *ret)
{
	uint32_t had = size < XFS_TREE_HEADER ? 0 : (size - XFS_TREE_HEADER) / 16;
	uint32_t has = (room - 4) / 16;
	uint32_t count;

	if (had == 0)
		return -EIO;
	count = xfs_get16(fork + 6);
	if (count == 0 || count > had || count > has)
		return -EIO;
	memcpy(ret, fork + 4, 4); /* level, count */
	memcpy(ret + 4, fork + XFS_TREE_HEADER, (size_t)count * 8);
	memcpy(ret + 4 + (size_t)has * 8, fork + XFS_TREE_HEADER + (size_t)had * 8,
	       (size_t)count * 8);
	return 0;
}

int xfs_item_lay_on_inode(const struct xfs_super *s, uint64_t number, const uint8_t *item,
			  uint32_t size, bool home, uint8_t *inode)
{
	static const uint32_t field_of[] = {0, FIELD_LOCAL, FIELD_EXTENTS, FIELD_ROOT};
	const uint8_t *core = item + KEPT_CORE, *fork = item + KEPT_FORK;
	uint8_t format = core[XFS_INODE_FORMAT], home_format = inode[XFS_INODE_FORMAT];
	uint32_t fields, room, length = size - KEPT_FORK;

	memcpy(&fields, item, sizeof(fields));
	lay_core(core, inode);
	if (xfs_get64(inode + XFS_INODE_NUMBER) != number)
		return -EIO;
	room = fork_room(s, inode);
	if (xfs_get16(inode + XFS_INODE_MODE) == 0 || format == XFS_FORK_DEVICE)
		return 0;
	if (format > XFS_FORK_BTREE)
		return -EIO;
	if (!(fields & field_of[format])) {
		bool empty = format == XFS_FORK_EXTENTS &&
			     xfs_get32(inode + XFS_INODE_EXTENTS) == 0 &&
			     xfs_get64(inode + XFS_INODE_BIG_EXTENTS) == 0;

		return empty || (home && home_format == format) ? 0 : -EAGAIN;
	}
	if (format == XFS_FORK_BTREE)
		return lay_root(fork, length, room, inode + XFS_INODE_CORE_BYTES);
	if (length > room)
		return -EIO;
	memcpy(inode + XFS_INODE_CORE_BYTES, fork, length);
	return 0;
}

/* ---- buffers ---- */

#define BUFFER_FORMAT_BYTES 20U /* without the map that follows */
#define BUFFER_CANCELLED 0x2U
#define BUFFER_TYPE_SHIFT 11
#define PIECE 128U
#define MAX_PIECES 512U /* in the largest buffer that is read here */
#define KEPT_PIECE (2 + PIECE)

enum buffer_type {
	BUFFER_UNKNOWN = 0,
	BUFFER_TREE = 4,
	BUFFER_FREE_SPACE = 5,
	BUFFER_FREE_LIST = 6,
	BUFFER_INODE_INDEX = 7,
	BUFFER_INODES = 8,
	BUFFER_LINK = 9,
	BUFFER_DIR_BLOCK = 10,
	BUFFER_DIR_DATA = 11,
};

/* True if the XFS reader reads blocks of that type. */
static bool is_read(unsigned type)
{
	return type == BUFFER_UNKNOWN || type == BUFFER_TREE || type == BUFFER_LINK ||
	       type == BUFFER_DIR_BLOCK || type == BUFFER_DIR_DATA;
}

/* Sets pieces[i] to the new bytes of the buffer's i-th piece.  The caller has set pieces to NULL;
 * pieces that did not change stay NULL. */
static int find_pieces(const struct xfs_region *regions, unsigned count,
		       const uint8_t *pieces[MAX_PIECES])
{
	const uint8_t *map = regions[0].data + BUFFER_FORMAT_BYTES;
	uint32_t words = xfs_item_get32(regions[0].data + 16);
	const uint8_t *at = NULL;
	unsigned region = 0;
	uint32_t left = 0;

	if (words > MAX_PIECES / 32 || regions[0].length < BUFFER_FORMAT_BYTES + 4 * words)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < 32 * words; i++) {
		if (!(xfs_item_get32(map + i / 32 * 4) >> i % 32 & 1)) {
			/* A region consists of adjacent pieces. */
			if (left)
				return -EOPNOTSUPP;
			continue;
		}
		if (left == 0) {
			if (++region == count || regions[region].length < PIECE)
				return -EOPNOTSUPP;
			at = regions[region].data;
			left = regions[region].length / PIECE;
		}
		pieces[i] = at;
		at += PIECE;
		left--;
	}
	return left || region + 1 != count ? -EOPNOTSUPP : 0;
}

static int emit_block(uint64_t block, const uint8_t *const *pieces, uint32_t count, xfs_item_cb *cb,
		      void *ctx)
{
	uint8_t *item = malloc(KEPT_PIECE * (size_t)count), *at = item;

	if (!item)
		return -ENOMEM;
	for (uint16_t i = 0; i < count; i++) {
		if (!pieces[i])
			continue;
		memcpy(at, &i, sizeof(i));
		memcpy(at + 2, pieces[i], PIECE);
		at += KEPT_PIECE;
	}
	return cb(ctx, block, item, (uint32_t)(at - item));
}

static int take_buffer(const struct xfs_super *s, const struct xfs_region *regions, unsigned count,
		       xfs_item_cb *cb, void *ctx)
{
	const uint8_t *pieces[MAX_PIECES] = {NULL};
	uint32_t per_block = s->block_size / XFS_BASIC_BLOCK,
		 per_block_pieces = s->block_size / PIECE;
	uint32_t flags, length;
	uint64_t first;
	bool whole;
	int r = 0;

	if (regions[0].length < BUFFER_FORMAT_BYTES)
		return -EOPNOTSUPP;
	flags = xfs_item_get16(regions[0].data + 4);
	length = xfs_item_get16(regions[0].data + 6);
	first = xfs_item_get64(regions[0].data + 8);
	/* Skip headers of allocation groups.  A header is smaller than a block, or does not begin
	 * at a block boundary. */
	if (first % per_block || length % per_block || (first / per_block & XFS_KEY_INODE))
		return 0;
	first /= per_block;
	length /= per_block;
	whole = !(flags & BUFFER_CANCELLED) && is_read(flags >> BUFFER_TYPE_SHIFT);
	if (whole && length * per_block_pieces > MAX_PIECES)
		return -EOPNOTSUPP;
	if (whole)
		r = find_pieces(regions, count, pieces);
	for (uint32_t i = 0; i < length && r == 0; i++)
		r = whole ? emit_block(first + i, pieces + (size_t)i * per_block_pieces,
				       per_block_pieces, cb, ctx)
			  : cb(ctx, first + i, NULL, 0);
	return r;
}

void xfs_item_lay_on_block(const struct xfs_super *s, const uint8_t *item, uint32_t size,
			   uint8_t *block)
{
	for (const uint8_t *at = item; at < item + size; at += KEPT_PIECE) {
		uint16_t i;

		memcpy(&i, at, sizeof(i));
		if ((i + 1) * PIECE <= s->block_size)
			memcpy(block + (size_t)i * PIECE, at + 2, PIECE);
	}
}

/* ---- all ---- */

int xfs_item_take(const struct xfs_super *s, const struct xfs_region *regions, unsigned count,
		  bool *ret_owners, xfs_item_cb *cb, void *ctx)
{
	unsigned type = xfs_item_get16(regions[0].data);

	switch (type) {
	case ITEM_INODE:
		return take_inode(regions, count, ret_owners, cb, ctx);
	case ITEM_BUFFER:
		return take_buffer(s, regions, count, cb, ctx);
	case ITEM_FIRST_INTENT ... ITEM_LAST_EARLY_INTENT:
	case ITEM_QUOTA:
	case ITEM_QUOTA_OFF:
	case ITEM_NEW_INODES:
	case ITEM_FIRST_LATE_INTENT ... ITEM_LAST_LATE_INTENT:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
