// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements log_sums.h.  Walks the log from the superblock to the last transaction, until a block
 * belongs to no transaction.
 */
#include "log_sums.h"

#include <endian.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "parser/fs/jbd2.h"

#define AT_SUPER_SUM 252
#define AT_COMMIT_SUM 16
#define FIRST_TAG 12

struct walk {
	const struct log_bytes *log;
	struct jbd2_super super;
	uint32_t pos, left, id;
	uint32_t sum; /* of the transaction, for super.commit_sums */
};

static void put32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof(value));
}

/* The sum lies at `at`, and counts as zero while it is computed. */
static void put_sum(uint8_t *block, size_t length, size_t at, uint32_t seed)
{
	put32(block + at, 0);
	put32(block + at, ext2fs_crc32c_le(seed, block, length));
}

static uint8_t *block_at(const struct walk *w)
{
	return w->log->block(w->log->ctx, w->pos);
}

static bool pass(struct walk *w)
{
	w->pos = jbd2_next(&w->super, w->pos);
	return w->left-- > 1;
}

static void fix_tag(const struct walk *w, uint8_t *tag, const uint8_t *copy)
{
	uint32_t id = htobe32(w->id), sum;

	if (!w->super.tag_sums)
		return;
	sum = ext2fs_crc32c_le(w->super.seed, (const uint8_t *)&id, sizeof(id));
	sum = ext2fs_crc32c_le(sum, copy, w->super.block_size);
	if (w->super.wide_tag_sums) {
		put32(tag + 12, sum);
	} else {
		tag[4] = (uint8_t)(sum >> 8);
		tag[5] = (uint8_t)sum;
	}
}

static void fix_own_sum(const struct walk *w, uint8_t *block)
{
	if (w->super.tag_sums)
		put_sum(block, w->super.block_size, w->super.block_size - 4, w->super.seed);
}

/* False: the ring is full. */
static bool fix_descriptor(struct walk *w, uint8_t *block)
{
	uint32_t copies = w->pos;
	struct jbd2_tag tag;
	size_t offset = 0, at = FIRST_TAG;
	bool more = true;

	while (more && jbd2_next_tag(&w->super, block, &offset, &tag)) {
		uint8_t *copy = block_at(w);

		if (w->log->fix_copy && !tag.escaped)
			w->log->fix_copy(w->log->ctx, tag.block, copy);
		fix_tag(w, block + at, copy);
		at = offset;
		more = pass(w);
	}
	fix_own_sum(w, block);
	w->sum = jbd2_sum(&w->super, w->sum, block);
	for (uint32_t end = w->pos; copies != end; copies = jbd2_next(&w->super, copies))
		w->sum = jbd2_sum(&w->super, w->sum, w->log->block(w->log->ctx, copies));
	return more;
}

static void fix_commit(struct walk *w, uint8_t *block)
{
	if (w->super.tag_sums)
		put_sum(block, w->super.block_size, AT_COMMIT_SUM, w->super.seed);
	else if (w->super.commit_sums)
		put32(block + AT_COMMIT_SUM, w->sum);
	w->id++;
	w->sum = JBD2_SUM_START;
}

static bool begin(struct walk *w)
{
	uint8_t *super = w->log->block(w->log->ctx, 0);
	const char *reason;
	struct jbd2_super any;

	/* The parser decides if the superblock has a checksum. */
	if (jbd2_super_parse(super, w->log->block_size, &any, &reason) < 0)
		put_sum(super, JBD2_SUPER_BYTES, AT_SUPER_SUM, UINT32_MAX);
	if (jbd2_super_parse(super, w->log->block_size, &w->super, &reason) < 0)
		return false;
	w->pos = w->super.tail_pos;
	w->id = w->super.tail;
	w->left = w->super.end - w->super.first;
	w->sum = JBD2_SUM_START;
	return w->pos && w->super.end <= w->log->num_blocks;
}

void log_fix_sums(const struct log_bytes *log)
{
	struct walk w = {.log = log};
	bool more = begin(&w);

	while (more) {
		uint8_t *block = block_at(&w);
		enum jbd2_kind kind = jbd2_block_kind(block, w.id);

		more = kind != JBD2_NONE && pass(&w);
		if (kind == JBD2_DESCRIPTOR)
			more = more && fix_descriptor(&w, block);
		else if (kind == JBD2_REVOKE)
			fix_own_sum(&w, block);
		else if (kind == JBD2_COMMIT)
			fix_commit(&w, block);
	}
}
