// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks a name up by the hash index of its directory (dir_index, "htree"), so that the cost of a
 * look-up does not grow with the directory.  ext4.c calls ext4_index_lookup().
 *
 *     block 0           root:  "." and "..", how names are hashed, entries
 *        |
 *     0 to 2 levels     nodes: entries
 *        |
 *     leaves            names, as in a directory without an index
 *
 * An entry is the block of a child and the lowest hash of the names below the child.  If names of
 * one hash do not fit into a leaf, they go on in the next leaf.  The lowest bit of the hash in the
 * entry of the next leaf is then 1.
 *
 * A guest wrote the index and the names.  This file reads at most MAX_BLOCKS blocks for a name, and
 * uses an index only if the index has the form that the kernel writes.  If the index has another
 * form, or if a checksum or the place of a block is wrong, the caller scans the directory.
 *
 * "No such name" is as good an answer as that of a scan.  The kernel looks a name up in the same
 * way, so for the owner, too, a name to which the index does not lead does not exist.  A view of a
 * live file system records the blocks of the index as it records all blocks.  An owner that adds
 * the name, splits a leaf or makes an index out of a plain directory commits a change of one of the
 * blocks that were read here, and then the view is not confirmed.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"

#define MAX_NODES 3U    /* on the way from the root to a leaf, both with large_dir */
#define MAX_BLOCKS 24U  /* for a look-up: nodes, and 20 leaves or so of names that hash equal */
#define INFO_OFFSET 24U /* after "." and ".."; struct ext2_dx_root_info */
#define ROOT_ENTRIES (INFO_OFFSET + sizeof(struct ext2_dx_root_info))
#define NODE_ENTRIES 8U /* after an entry of a directory without a name */
/* The kernel and libext2fs disagree about the hashes of names that would hash to the largest. */
#define FIRST_DISPUTED_HASH 0xfffffffcU

#define UNINDEXED_FLAGS (EXT4_INLINE_DATA_FL | EXT4_CASEFOLD_FL | EXT4_ENCRYPT_FL)

struct node {
	uint8_t *bytes;
	const struct ext2_dx_entry *entries; /* in place of the first hash: limit and count */
	unsigned count, at;
};

struct search {
	struct ext4_view *view;
	ext2_ino_t dir;
	struct ext2_inode inode;
	ext2_extent_handle_t extents; /* NULL: the directory has a block map */
	const char *name;
	size_t length;
	uint32_t hash;
	unsigned blocks_left;
	unsigned num_nodes;
	struct node node[MAX_NODES];
	uint8_t *leaf;
};

/* ---- blocks --------------------------------------------------------------------- */

/* Sets *ret to the place of a block of the directory; 0: a hole. */
static errcode_t find_block(struct search *s, uint32_t logical, blk64_t *ret)
{
	struct ext2fs_extent e;
	errcode_t error;

	*ret = 0;
	if (!s->extents)
		return ext2fs_bmap2(s->view->filsys, s->dir, &s->inode, NULL, 0, logical, NULL,
				    ret);
	error = ext2fs_extent_goto(s->extents, logical);
	if (!error)
		error = ext2fs_extent_get(s->extents, EXT2_EXTENT_CURRENT, &e);
	if (!error && (e.e_flags & EXT2_EXTENT_FLAGS_LEAF) &&
	    !(e.e_flags & EXT2_EXTENT_FLAGS_UNINIT) && logical >= e.e_lblk &&
	    logical - e.e_lblk < e.e_len)
		*ret = e.e_pblk + (logical - e.e_lblk);
	return error;
}

/* Reads a block of the directory.  libext2fs compares the checksum, as when it scans.  An error is
 * never -ENOENT, which is an answer. */
static int read_block(struct search *s, uint32_t logical, uint8_t *buf)
{
	blk64_t place;

	if (s->blocks_left == 0 || logical >= EXT2_I_SIZE(&s->inode) / s->view->super.block_size)
		return -EIO;
	s->blocks_left--;
	if (find_block(s, logical, &place) || place == 0 || place >= s->view->super.blocks)
		return -EIO;
	return ext2fs_read_dir_block4(s->view->filsys, place, buf, 0, s->dir) ? -EIO : 0;
}

static unsigned length_of(struct search *s, const struct ext2_dir_entry *entry)
{
	unsigned length;

	return ext2fs_get_rec_len(s->view->filsys, (struct ext2_dir_entry *)entry, &length)
		       ? 0
		       : length;
}

/* ---- root and nodes -------------------------------------------------------------- */

static uint32_t hash_at(const struct node *n, unsigned i)
{
	return le32toh(n->entries[i].hash);
}

/* Points n to the entries in its block.  false: their numbers are not those of such a block. */
static bool find_entries(struct search *s, struct node *n, size_t offset)
{
	bool sums = ext2fs_has_feature_metadata_csum(s->view->filsys->super);
	size_t room = s->view->super.block_size - offset - (sums ? sizeof(struct ext2_dx_tail) : 0);
	struct ext2_dx_countlimit numbers;

	memcpy(&numbers, n->bytes + offset, sizeof(numbers));
	n->entries = (const struct ext2_dx_entry *)(n->bytes + offset);
	n->count = le16toh(numbers.count);
	n->at = 0;
	return le16toh(numbers.limit) == room / sizeof(*n->entries) && n->count > 0 &&
	       n->count <= le16toh(numbers.limit);
}

/* Chooses the entry of n below which names of the hash begin.  false: the entries are not in
 * order. */
static bool choose(const struct search *s, struct node *n)
{
	uint32_t last = 0;

	for (unsigned i = 1; i < n->count; i++) {
		uint32_t hash = hash_at(n, i);

		if (hash < last)
			return false;
		last = hash;
		if (hash <= s->hash)
			n->at = i;
	}
	return true;
}

/* True if the kernel hashes the name with chars that are signed, or if the sign does not matter. */
static bool is_sign_known(const struct search *s, bool *ret_unsigned)
{
	uint32_t flags = s->view->filsys->super->s_flags;

	*ret_unsigned = flags & EXT2_FLAGS_UNSIGNED_HASH;
	if (flags & (EXT2_FLAGS_SIGNED_HASH | EXT2_FLAGS_UNSIGNED_HASH))
		return true;
	for (size_t i = 0; i < s->length; i++)
		if ((unsigned char)s->name[i] > 0x7f)
			return false;
	return true;
}

static bool hash_name(struct search *s, uint8_t version)
{
	const struct ext2_super_block *super = s->view->filsys->super;
	bool is_unsigned;

	/* Larger numbers: those of unsigned chars, which are used in memory only, and siphash,
	 * which needs the key of an encrypted directory. */
	if (version > EXT2_HASH_TEA || !is_sign_known(s, &is_unsigned))
		return false;
	if (is_unsigned)
		version += EXT2_HASH_LEGACY_UNSIGNED;
	return ext2fs_dirhash(version, s->name, (int)s->length, super->s_hash_seed, &s->hash,
			      NULL) == 0 &&
	       s->hash < FIRST_DISPUTED_HASH;
}

/* Reads the root, and hashes the name as the root says. */
static int open_root(struct search *s)
{
	uint32_t block_size = s->view->super.block_size;
	struct node *n = &s->node[0];
	const struct ext2_dir_entry *dot = (const void *)n->bytes;
	const struct ext2_dir_entry *dot_dot = (const void *)(n->bytes + 12);
	bool large = ext2fs_has_feature_largedir(s->view->filsys->super);
	struct ext2_dx_root_info info;
	int r = read_block(s, 0, n->bytes);

	if (r < 0)
		return r;
	memcpy(&info, n->bytes + INFO_OFFSET, sizeof(info));
	s->num_nodes = info.indirect_levels + 1U;
	if (length_of(s, dot) != 12 || length_of(s, dot_dot) != block_size - 12 ||
	    info.reserved_zero || info.info_length != sizeof(info) || (info.unused_flags & 1) ||
	    s->num_nodes > (large ? MAX_NODES : MAX_NODES - 1) ||
	    !find_entries(s, n, ROOT_ENTRIES) || !hash_name(s, info.hash_version) || !choose(s, n))
		return -EIO;
	return 0;
}

static uint32_t child_of(const struct node *n)
{
	return le32toh(n->entries[n->at].block) & EXT4_DX_BLOCK_MASK;
}

/* Reads the nodes below node[level], down to the last node before the leaf. */
static int descend(struct search *s, unsigned level)
{
	for (unsigned i = level + 1; i < s->num_nodes; i++) {
		struct node *n = &s->node[i];
		const struct ext2_dir_entry *empty = (const void *)n->bytes;
		int r = read_block(s, child_of(&s->node[i - 1]), n->bytes);

		if (r < 0)
			return r;
		if (empty->inode || length_of(s, empty) != s->view->super.block_size ||
		    !find_entries(s, n, NODE_ENTRIES) || !choose(s, n))
			return -EIO;
	}
	return 0;
}

/* Goes on to the next leaf.  -ENOENT: names of the hash do not go on there.  All hashes behind the
 * entry are larger than that of the name, so descend() chooses the first entry of each node. */
static int next_leaf(struct search *s)
{
	unsigned level = s->num_nodes - 1;

	while (s->node[level].at + 1 == s->node[level].count)
		if (level-- == 0)
			return -ENOENT;
	s->node[level].at++;
	if ((hash_at(&s->node[level], s->node[level].at) & ~1U) != s->hash)
		return -ENOENT;
	return descend(s, level);
}

/* ---- leaves ----------------------------------------------------------------------- */

/* Looks for the name in the leaf that the nodes lead to.  The checks of an entry are those of
 * libext2fs when it scans. */
static int search_leaf(struct search *s, ext2_ino_t *ret)
{
	uint32_t block_size = s->view->super.block_size, at = 0;
	uint32_t block = child_of(&s->node[s->num_nodes - 1]);
	/* A leaf is never block 0, the root. */
	int r = block ? read_block(s, block, s->leaf) : -EIO;

	if (r < 0)
		return r;
	while (at < block_size - 8) {
		struct ext2_dir_entry *entry = (struct ext2_dir_entry *)(s->leaf + at);
		unsigned length = length_of(s, entry);
		size_t name_length = (size_t)ext2fs_dirent_name_len(entry);

		if (length < 8 || length % 4 || length > block_size - at ||
		    name_length + 8 > length)
			return -EIO;
		if (entry->inode && name_length == s->length &&
		    !memcmp(entry->name, s->name, s->length)) {
			*ret = entry->inode;
			return 0;
		}
		at += length;
	}
	return -ENOENT;
}

static int search_leaves(struct search *s, ext2_ino_t *ret)
{
	int r = open_root(s);

	if (r == 0)
		r = descend(s, 0);
	while (r == 0) {
		r = search_leaf(s, ret);
		if (r != -ENOENT)
			return r;
		r = next_leaf(s);
	}
	return r;
}

/* ---- a look-up -------------------------------------------------------------------- */

static bool has_index(const struct search *s)
{
	return ext2fs_has_feature_dir_index(s->view->filsys->super) &&
	       LINUX_S_ISDIR(s->inode.i_mode) && (s->inode.i_flags & EXT2_INDEX_FL) &&
	       !(s->inode.i_flags & UNINDEXED_FLAGS);
}

/* "." and ".." are in the root and not in a leaf. */
static bool is_dots(const char *name, size_t length)
{
	return length <= 2 && !memcmp(name, "..", length);
}

static int search_blocks(struct search *s, ext2_ino_t *ret)
{
	uint32_t block_size = s->view->super.block_size;
	uint8_t *blocks = malloc((MAX_NODES + 1) * (size_t)block_size);
	int r;

	if (!blocks)
		return -ENOMEM;
	for (unsigned i = 0; i < MAX_NODES; i++)
		s->node[i].bytes = blocks + i * (size_t)block_size;
	s->leaf = blocks + MAX_NODES * (size_t)block_size;
	r = search_leaves(s, ret);
	free(blocks);
	return r;
}

int ext4_index_lookup(struct ext4_view *v, ext2_ino_t dir, const char *name, size_t length,
		      ext2_ino_t *ret)
{
	struct search s = {
		.view = v, .dir = dir, .name = name, .length = length, .blocks_left = MAX_BLOCKS};
	errcode_t error = ext2fs_read_inode(v->filsys, dir, &s.inode);
	int r;

	if (!error && (!has_index(&s) || is_dots(name, length)))
		return -EIO;
	if (!error && (s.inode.i_flags & EXT4_EXTENTS_FL))
		error = ext2fs_extent_open2(v->filsys, dir, &s.inode, &s.extents);
	r = error ? -EIO : search_blocks(&s, ret);
	ext2fs_extent_free(s.extents);
	return r;
}
