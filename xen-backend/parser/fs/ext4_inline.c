// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds inline data: the bytes of a file that is small enough to be stored in its inode; see
 * ext4.h.  ext4_map.c calls ext4_inline_find().
 *
 * The first 60 bytes of the file are in i_block, where other inodes have their extents.  The other
 * bytes are the value of the extended attribute "system.data".  The attributes follow the inode's
 * own fields: a header, then entries.  Each entry has the offset of its value, counted from the
 * first entry.
 */
#include <endian.h>
#include <string.h>

#include "parser/fs/ext4.h"

#define HEAD_AT offsetof(struct ext2_inode, i_block)
#define HEAD_BYTES sizeof(((struct ext2_inode *)0)->i_block)
#define SYSTEM_INDEX 7 /* name index of attributes named system.* */
#define NAME "data"

/* The bytes of the inode from the first attribute entry to the end. */
struct room {
	const uint8_t *first;
	size_t length;
};

static bool find_room(const uint8_t *inode, size_t size, struct room *ret)
{
	uint16_t extra;
	uint32_t magic;
	size_t at;

	if (size < EXT2_GOOD_OLD_INODE_SIZE + sizeof(extra))
		return false;
	memcpy(&extra, inode + EXT2_GOOD_OLD_INODE_SIZE, sizeof(extra));
	at = EXT2_GOOD_OLD_INODE_SIZE + (size_t)le16toh(extra);
	if (at % 4 || at > size || size - at < sizeof(magic))
		return false;
	memcpy(&magic, inode + at, sizeof(magic));
	if (le32toh(magic) != EXT2_EXT_ATTR_MAGIC)
		return false;
	at += sizeof(magic);
	*ret = (struct room){inode + at, size - at};
	return true;
}

static bool value_of(const struct room *room, const struct ext2_ext_attr_entry *e,
		     struct ext4_inline *ret)
{
	size_t at = le16toh(e->e_value_offs), length = le32toh(e->e_value_size);

	if (e->e_value_inum || at > room->length || length > room->length - at)
		return false;
	ret->tail = room->first + at;
	ret->tail_length = length;
	return true;
}

bool ext4_inline_find(const uint8_t *inode, size_t size, struct ext4_inline *ret)
{
	struct ext2_ext_attr_entry e;
	struct room room;

	if (!find_room(inode, size, &room))
		return false;
	for (size_t at = 0; room.length - at >= sizeof(e);) {
		const uint8_t *name = room.first + at + sizeof(e);

		memcpy(&e, room.first + at, sizeof(e));
		at += sizeof(e);
		if (e.e_name_len == 0 || e.e_name_len > room.length - at)
			return false;
		if (e.e_name_index == SYSTEM_INDEX && e.e_name_len == strlen(NAME) &&
		    !memcmp(name, NAME, strlen(NAME))) {
			ret->head = inode + HEAD_AT;
			ret->head_length = HEAD_BYTES;
			return value_of(&room, &e, ret);
		}
		at += (e.e_name_len + 3U) & ~3U;
		if (at > room.length)
			return false;
	}
	return false;
}
