// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements base.h: the places of a file system, and changes to them. */
#include "base.h"

#include <endian.h>
#include <string.h>
#include <uuid/uuid.h>

#include "log_sums.h"

/* ---- places ----------------------------------------------------------------------- */

static struct place *find_place(struct base *b, uint64_t block)
{
	for (unsigned i = 0; i < b->num_places; i++)
		if (b->places[i].block == block)
			return &b->places[i];
	return NULL;
}

static void add_place(struct base *b, uint64_t block, enum place_kind kind, ext2_ino_t inode)
{
	if (b->num_places < BASE_MAX_PLACES && !find_place(b, block))
		b->places[b->num_places++] = (struct place){block, kind, inode, false};
}

static void add_inode(struct base *b, ext2_ino_t inode)
{
	uint32_t group = (inode - 1) / b->fs->super->s_inodes_per_group;
	uint32_t index = (inode - 1) % b->fs->super->s_inodes_per_group;
	uint32_t per_block = b->block_size / EXT2_INODE_SIZE(b->fs->super);

	add_place(b, ext2fs_inode_table_loc(b->fs, group) + index / per_block, PLACE_INODES,
		  inode - index % per_block);
}

struct owner {
	struct base *base;
	ext2_ino_t number;
	struct ext2_inode *inode;
};

static int add_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t n, blk64_t ref, int offset,
		     void *ctx)
{
	const struct owner *o = ctx;
	struct base *b = o->base;

	(void)fs, (void)ref, (void)offset;
	if (n < 0)
		add_place(b, *block, o->inode->i_flags & EXT4_EXTENTS_FL ? PLACE_TREE : PLACE_PLAIN,
			  o->number);
	else if (LINUX_S_ISDIR(o->inode->i_mode))
		add_place(b, *block, PLACE_DIRECTORY, o->number);
	else if (o->number == b->fs->super->s_journal_inum && n < BASE_MAX_LOG)
		b->log[b->log_blocks = (uint32_t)n] = *block, b->log_blocks++;
	else if (n == 0)
		add_place(b, *block, PLACE_PLAIN, o->number);
	return 0;
}

static void add_inodes(struct base *b)
{
	ext2_inode_scan scan;
	struct ext2_inode inode;
	ext2_ino_t number;

	check(ext2fs_open_inode_scan(b->fs, 0, &scan) == 0);
	while (ext2fs_get_next_inode(scan, &number, &inode) == 0 && number) {
		struct owner o = {b, number, &inode};

		if (inode.i_links_count == 0)
			continue;
		add_inode(b, number);
		/* A short link's target is where other inodes have blocks. */
		if (!ext2fs_inode_has_valid_blocks2(b->fs, &inode))
			continue;
		/* Fails for inodes without blocks, and for inodes that hold their content. */
		(void)ext2fs_block_iterate3(b->fs, number, BLOCK_FLAG_READ_ONLY, NULL, add_block,
					    &o);
	}
	ext2fs_close_inode_scan(scan);
}

void base_load(struct base *b, const char *name)
{
	char *path = memory_base_path(name);

	memory_load(&b->memory, name);
	check(ext2fs_open(path, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &b->fs) == 0);
	free(path);
	b->block_size = b->fs->blocksize;
	uuid_unparse_lower(b->fs->super->s_uuid, b->uuid);
	add_place(b, 1024 / b->block_size, PLACE_SUPER, 0);
	for (unsigned i = 0; i < b->fs->desc_blocks; i++)
		add_place(b, ext2fs_descriptor_block_loc2(b->fs, 1024 / b->block_size, i),
			  PLACE_PLAIN, 0);
	add_inodes(b);
	for (uint32_t n = 0; n < b->log_blocks && n < BASE_LOG_PLACES; n++)
		add_place(b, b->log[n], PLACE_LOG, 0);
}

/* ---- checksums ----------------------------------------------------------------- */

static void fix_inodes(struct base *b, ext2_ino_t first, uint8_t *bytes)
{
	uint32_t size = EXT2_INODE_SIZE(b->fs->super);

	for (uint32_t at = 0; at < b->block_size; at += size)
		(void)ext2fs_inode_csum_set(b->fs, first + at / size,
					    (struct ext2_inode_large *)(bytes + at));
}

static void fix_tree(struct base *b, ext2_ino_t inode, uint8_t *bytes)
{
	struct ext3_extent_header *header = (struct ext3_extent_header *)bytes;

	/* The sum follows the entries that the header has room for. */
	if (sizeof(*header) + header->eh_max * sizeof(struct ext3_extent) + 4 <= b->block_size)
		(void)ext2fs_extent_block_csum_set(b->fs, inode, header);
}

static void fix_block(struct base *b, const struct place *p, uint8_t *bytes)
{
	uint32_t super = 1024 % b->block_size;

	switch (p->kind) {
	case PLACE_SUPER:
		(void)ext2fs_superblock_csum_set(b->fs, (struct ext2_super_block *)(bytes + super));
		break;
	case PLACE_INODES:
		fix_inodes(b, p->inode, bytes);
		break;
	case PLACE_DIRECTORY:
		(void)ext2fs_dir_block_csum_set(b->fs, p->inode, (struct ext2_dir_entry *)bytes);
		break;
	case PLACE_TREE:
		fix_tree(b, p->inode, bytes);
		break;
	default:
		break;
	}
}

static uint8_t *log_block(void *ctx, uint32_t n)
{
	struct base *b = ctx;

	return memory_touch(&b->memory, b->log[n] * b->block_size, b->block_size);
}

static void fix_copy(void *ctx, uint64_t block, uint8_t *bytes)
{
	const struct place *p = find_place(ctx, block);

	if (p)
		fix_block(ctx, p, bytes);
}

void base_fix_sums(struct base *b)
{
	struct log_bytes log = {b->block_size, b->log_blocks, b, log_block, fix_copy};
	bool log_changed = false;

	for (unsigned i = 0; i < b->num_places; i++) {
		struct place *p = &b->places[i];

		if (p->changed)
			fix_block(b, p, b->memory.bytes + p->block * b->block_size);
		log_changed |= p->changed && p->kind == PLACE_LOG;
		p->changed = false;
	}
	if (log_changed)
		log_fix_sums(&log);
}

/* ---- changes ------------------------------------------------------------------ */

enum { WRITE_BYTES, WRITE_NUMBER, WRITE_BIG_NUMBER, WRITE_CONTENT };

/* Returns where bytes may be written, and how many.  offset is wrapped into the block. */
static uint8_t *place_bytes(struct base *b, struct place *p, uint32_t offset, uint32_t *room)
{
	offset %= b->block_size;
	*room = b->block_size - offset;
	return b->memory.bytes + p->block * b->block_size + offset;
}

static void change_place(struct base *b, unsigned what, struct place *p, uint32_t offset,
			 const uint8_t *literal, uint32_t length, const struct place *other)
{
	uint32_t room, little = htole32((uint32_t)other->block),
		       big = htobe32((uint32_t)other->block);
	const void *from = what == WRITE_BYTES    ? literal
			   : what == WRITE_NUMBER ? (const void *)&little
			   : what == WRITE_BIG_NUMBER
				   ? (const void *)&big
				   : b->memory.bytes + other->block * b->block_size;
	uint8_t *to = place_bytes(b, p, offset, &room);

	if (what == WRITE_NUMBER || what == WRITE_BIG_NUMBER)
		length = sizeof(little);
	else if (what == WRITE_CONTENT)
		length = b->block_size;
	/* Touches all of the block, because its checksums are computed again later. */
	memory_touch(&b->memory, p->block * b->block_size, b->block_size);
	memmove(to, from, length < room ? length : room);
	p->changed = true;
}

void base_change(struct base *b, struct bytes in, unsigned moment)
{
	while (in.left) {
		uint8_t op = take8(&in), literal[16];
		struct place *p = &b->places[take16(&in) % b->num_places];
		const struct place *other = p;
		uint32_t offset = take16(&in), length = (op >> 4) + 1u;
		unsigned what = op % 4;

		if (what == WRITE_BYTES)
			for (uint32_t i = 0; i < length; i++)
				literal[i] = take8(&in);
		else
			other = &b->places[take16(&in) % b->num_places];
		if ((op >> 2) % 4 % 3 == moment)
			change_place(b, what, p, offset, literal, length, other);
	}
}

void base_restore(struct base *b)
{
	memory_restore(&b->memory);
	for (unsigned i = 0; i < b->num_places; i++)
		b->places[i].changed = false;
}
