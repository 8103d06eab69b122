// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes the on-disk format of ext4's journal (jbd2); see jbd2.h.  journal_log.c and journal.c
 * call these functions.  All numbers in the journal are big-endian.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "parser/fs/jbd2.h"

#define MAGIC 0xc03b3998U
#define SUPER_V1 3
#define SUPER_V2 4
#define HEADER_BYTES 12U  /* magic, kind, id */
#define REVOKE_HEADER 16U /* magic, kind, id, number of bytes used */
#define TAIL_BYTES 4U     /* the checksum at the end of a block */
#define MIN_LOG 1024U     /* blocks; a smaller ring leaves no room for fast commits */
#define DEFAULT_FC 256U

/* Offsets in the superblock, in bytes. */
enum {
	AT_BLOCK_SIZE = 12,
	AT_MAX_LENGTH = 16,
	AT_FIRST = 20,
	AT_SEQUENCE = 24,
	AT_START = 28,
	AT_ERROR = 32,
	AT_COMPAT = 36,
	AT_INCOMPAT = 40,
	AT_RO_COMPAT = 44,
	AT_UUID = 48,
	AT_CHECKSUM_TYPE = 80,
	AT_FC_BLOCKS = 84,
	AT_CHECKSUM = 252,
};
#define COMPAT_CHECKSUM 1U
enum {
	INCOMPAT_REVOKE = 1,
	INCOMPAT_64BIT = 2,
	INCOMPAT_ASYNC_COMMIT = 4,
	INCOMPAT_CSUM_V2 = 8,
	INCOMPAT_CSUM_V3 = 16,
	INCOMPAT_FAST_COMMIT = 32,
	INCOMPAT_KNOWN = 63,
};
#define CHECKSUM_CRC32 1
#define CHECKSUM_CRC32C 4

/* Offsets in a commit block, in bytes. */
enum { AT_COMMIT_TYPE = 12, AT_COMMIT_SIZE = 13, AT_COMMIT_SUM = 16, AT_COMMIT_TIME = 48 };

enum { TAG_ESCAPED = 1, TAG_SAME_UUID = 2, TAG_LAST = 8 };
#define UUID_BYTES 16U

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The CRC32C of data, with the four bytes at sum_at taken as zero. */
static uint32_t sum_around(uint32_t seed, const uint8_t *data, size_t length, size_t sum_at)
{
	static const uint8_t zero[4];
	uint32_t sum = ext2fs_crc32c_le(seed, data, sum_at);

	sum = ext2fs_crc32c_le(sum, zero, sizeof(zero));
	return ext2fs_crc32c_le(sum, data + sum_at + 4, length - sum_at - 4);
}

static int refuse(int error, const char *reason, const char **ret_reason)
{
	*ret_reason = reason;
	return error;
}

static int check_features(const uint8_t *raw, const char **ret_reason)
{
	uint32_t incompat = get32(raw + AT_INCOMPAT);

	if ((incompat & ~(uint32_t)INCOMPAT_KNOWN) || get32(raw + AT_RO_COMPAT))
		return refuse(-EBUSY, "its journal has features that vRead does not support",
			      ret_reason);
	if (incompat & INCOMPAT_ASYNC_COMMIT)
		return refuse(-EBUSY, "it is mounted with journal_async_commit", ret_reason);
	if ((incompat & INCOMPAT_CSUM_V2) && (incompat & INCOMPAT_CSUM_V3))
		return refuse(-EIO, "its journal has checksums of two versions", ret_reason);
	if ((incompat & (INCOMPAT_CSUM_V2 | INCOMPAT_CSUM_V3)) &&
	    raw[AT_CHECKSUM_TYPE] != CHECKSUM_CRC32C)
		return refuse(-EIO, "its journal has checksums of an unknown type", ret_reason);
	return 0;
}

/* The fast-commit area lies behind the ring.  If fewer than MIN_LOG blocks were left for the ring,
 * the ring takes all blocks. */
static uint32_t ring_end(const uint8_t *raw, uint32_t incompat)
{
	uint32_t length = get32(raw + AT_MAX_LENGTH);
	uint32_t fc = get32(raw + AT_FC_BLOCKS);

	if (!(incompat & INCOMPAT_FAST_COMMIT))
		return length;
	fc = fc ? fc : DEFAULT_FC;
	return fc < length && length - fc >= MIN_LOG ? length - fc : length;
}

int jbd2_super_parse(const uint8_t raw[JBD2_SUPER_BYTES], uint32_t block_size,
		     struct jbd2_super *ret, const char **ret_reason)
{
	uint32_t kind = get32(raw + 4), length = get32(raw + AT_MAX_LENGTH);
	struct jbd2_super s = {.block_size = block_size};
	uint32_t incompat = 0;
	int r;

	if (get32(raw) != MAGIC || (kind != SUPER_V1 && kind != SUPER_V2))
		return refuse(-EIO, "its journal has no superblock", ret_reason);
	if (kind == SUPER_V2) {
		incompat = get32(raw + AT_INCOMPAT);
		r = check_features(raw, ret_reason);
		if (r < 0)
			return r;
		s.commit_sums = get32(raw + AT_COMPAT) & COMPAT_CHECKSUM;
	}
	s.wide = incompat & INCOMPAT_64BIT;
	s.wide_tag_sums = incompat & INCOMPAT_CSUM_V3;
	s.tag_sums = incompat & (INCOMPAT_CSUM_V2 | INCOMPAT_CSUM_V3);
	if (s.tag_sums &&
	    sum_around(UINT32_MAX, raw, JBD2_SUPER_BYTES, AT_CHECKSUM) != get32(raw + AT_CHECKSUM))
		return refuse(-EAGAIN, "its journal's superblock has a wrong checksum", ret_reason);
	if (get32(raw + AT_ERROR))
		return refuse(-EBUSY, "its journal was aborted after an error", ret_reason);
	s.commit_sums = s.commit_sums && !s.tag_sums;
	s.seed = ext2fs_crc32c_le(UINT32_MAX, raw + AT_UUID, UUID_BYTES);
	s.first = get32(raw + AT_FIRST);
	s.end = ring_end(raw, incompat);
	s.tail = get32(raw + AT_SEQUENCE);
	s.tail_pos = get32(raw + AT_START);
	if (get32(raw + AT_BLOCK_SIZE) != block_size)
		return refuse(-EIO, "its journal and the file system have different block sizes",
			      ret_reason);
	if (length > JBD2_MAX_BLOCKS)
		return refuse(-EBUSY, "its journal is too large", ret_reason);
	if (s.first == 0 || s.first >= s.end || s.end - s.first < 8 ||
	    (s.tail_pos && (s.tail_pos < s.first || s.tail_pos >= s.end)))
		return refuse(-EIO, "its journal's superblock has invalid numbers", ret_reason);
	*ret = s;
	return 0;
}

bool jbd2_super_same_log(const struct jbd2_super *a, const struct jbd2_super *b)
{
	return a->block_size == b->block_size && a->first == b->first && a->end == b->end &&
	       a->seed == b->seed && a->wide == b->wide && a->tag_sums == b->tag_sums &&
	       a->wide_tag_sums == b->wide_tag_sums && a->commit_sums == b->commit_sums;
}

enum jbd2_kind jbd2_block_kind(const uint8_t *block, uint32_t id)
{
	if (get32(block) != MAGIC || get32(block + 8) != id)
		return JBD2_NONE;
	switch (get32(block + 4)) {
	case JBD2_DESCRIPTOR:
		return JBD2_DESCRIPTOR;
	case JBD2_COMMIT:
		return JBD2_COMMIT;
	case JBD2_REVOKE:
		return JBD2_REVOKE;
	default:
		return JBD2_NONE;
	}
}

bool jbd2_block_intact(const struct jbd2_super *s, const uint8_t *block, enum jbd2_kind kind)
{
	size_t at = kind == JBD2_COMMIT ? (size_t)AT_COMMIT_SUM : s->block_size - TAIL_BYTES;

	return !s->tag_sums || sum_around(s->seed, block, s->block_size, at) == get32(block + at);
}

static size_t used_bytes(const struct jbd2_super *s)
{
	return s->block_size - (s->tag_sums ? TAIL_BYTES : 0);
}

static size_t tag_bytes(const struct jbd2_super *s)
{
	if (s->wide_tag_sums)
		return 16;
	return 8U + (s->wide ? 4 : 0) + (s->tag_sums ? 2 : 0);
}

/* After the last tag *offset is the block size, so that the next call returns false. */
bool jbd2_next_tag(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		   struct jbd2_tag *ret)
{
	size_t at = *offset ? *offset : HEADER_BYTES;
	const uint8_t *tag = block + at;
	uint32_t flags;

	if (at + tag_bytes(s) > used_bytes(s))
		return false;
	flags = s->wide_tag_sums ? get32(tag + 4) : get16(tag + 6);
	ret->block = get32(tag);
	if (s->wide)
		ret->block |= (uint64_t)get32(tag + 8) << 32;
	ret->sum = s->wide_tag_sums ? get32(tag + 12) : get16(tag + 4);
	ret->escaped = flags & TAG_ESCAPED;
	*offset = at + tag_bytes(s) + (flags & TAG_SAME_UUID ? 0 : UUID_BYTES);
	if (flags & TAG_LAST)
		*offset = s->block_size;
	return true;
}

bool jbd2_next_revoke(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		      uint64_t *ret)
{
	size_t at = *offset ? *offset : REVOKE_HEADER, size = s->wide ? 8 : 4;
	size_t end = get32(block + HEADER_BYTES);

	if (end > used_bytes(s))
		end = used_bytes(s);
	if (at + size > end)
		return false;
	*ret = s->wide ? (uint64_t)get32(block + at) << 32 | get32(block + at + 4)
		       : get32(block + at);
	*offset = at + size;
	return true;
}

bool jbd2_copy_intact(const struct jbd2_super *s, const struct jbd2_tag *tag, uint32_t id,
		      const uint8_t *copy)
{
	uint32_t big = htobe32(id), sum;

	if (!s->tag_sums)
		return true;
	sum = ext2fs_crc32c_le(s->seed, (const uint8_t *)&big, sizeof(big));
	sum = ext2fs_crc32c_le(sum, copy, s->block_size);
	return (s->wide_tag_sums ? sum : (sum & 0xffff)) == tag->sum;
}

void jbd2_unescape(uint8_t *copy)
{
	uint32_t magic = htobe32(MAGIC);

	memcpy(copy, &magic, sizeof(magic));
}

uint32_t jbd2_sum(const struct jbd2_super *s, uint32_t sum, const uint8_t *block)
{
	return ext2fs_crc32_be(sum, block, s->block_size);
}

uint64_t jbd2_commit_time(const uint8_t *commit)
{
	return (uint64_t)get32(commit + AT_COMMIT_TIME) << 32 | get32(commit + AT_COMMIT_TIME + 4);
}

bool jbd2_commit_matches(const uint8_t *commit, uint32_t sum)
{
	uint8_t type = commit[AT_COMMIT_TYPE], size = commit[AT_COMMIT_SIZE];
	uint32_t found = get32(commit + AT_COMMIT_SUM);

	return (type == CHECKSUM_CRC32 && size == 4 && found == sum) ||
	       (type == 0 && size == 0 && found == 0);
}
