/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jbd2.h - the format of ext4's journal; private to fs/.
 *
 * The log is a ring of blocks from super.first up to super.end.  A transaction
 * is a run of them: revoke blocks (blocks whose older copies no longer count),
 * descriptor blocks, each followed by the copies of file-system blocks that its
 * tags name, and a commit block, which makes it true.  All of a transaction's
 * own blocks carry its id; ids go up by one and wrap.
 *
 * Pure functions on hostile bytes.
 */
#ifndef VREAD_FS_JBD2_H
#define VREAD_FS_JBD2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JBD2_SUPER_BYTES 1024U
#define JBD2_HEAD_BYTES 12U        /* of each block of a transaction that is not a copy */
#define JBD2_MAX_BLOCKS (1U << 20) /* 4 GiB in 4 KiB blocks; mke2fs makes at most a quarter */

enum jbd2_kind {
	JBD2_NONE, /* not a block of that transaction */
	JBD2_DESCRIPTOR = 1,
	JBD2_COMMIT = 2,
	JBD2_REVOKE = 5,
};

struct jbd2_super {
	/* What does not change while a file system is mounted. */
	uint32_t block_size;
	uint32_t first, end; /* the ring: [first, end) */
	uint32_t seed;       /* of checksums */
	bool wide;           /* 64-bit block numbers */
	bool tag_sums;       /* every copy, descriptor, revoke and commit block has a checksum */
	bool wide_tag_sums;  /* of 32 bits rather than 16 */
	bool commit_sums;    /* commit blocks have one of their transaction */
	/* What does. */
	uint32_t tail;     /* oldest transaction that may be missing at home */
	uint32_t tail_pos; /* its first block; 0: all is at home */
};

/* 0; -EAGAIN the checksum is wrong: it is being written; -EBUSY not to be read by us, -EIO
 * impossible values: *ret_reason says why. */
int jbd2_super_parse(const uint8_t raw[JBD2_SUPER_BYTES], uint32_t block_size,
		     struct jbd2_super *ret, const char **ret_reason);
/* Whether what does not change is the same. */
bool jbd2_super_same_log(const struct jbd2_super *a, const struct jbd2_super *b);

/* Ids wrap: whether a is older than b. */
static inline bool jbd2_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline uint32_t jbd2_next(const struct jbd2_super *s, uint32_t pos)
{
	return pos + 1 >= s->end ? s->first : pos + 1;
}

enum jbd2_kind jbd2_block_kind(const uint8_t *block, uint32_t id);
/* Whether a descriptor, revoke or commit block's own checksum is right, or there is none. */
bool jbd2_block_intact(const struct jbd2_super *s, const uint8_t *block, enum jbd2_kind kind);

struct jbd2_tag {
	uint64_t block; /* of the file system, whose copy this is */
	uint32_t sum;   /* if super.tag_sums */
	bool escaped;   /* the copy's first four bytes, which were the magic, are zeroed */
};

/* The tag at *offset of a descriptor block (begin with 0); moves *offset on.  false: no more. */
bool jbd2_next_tag(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		   struct jbd2_tag *ret);
/* Likewise a revoked block of a revoke block. */
bool jbd2_next_revoke(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		      uint64_t *ret);
/* Whether a copy, as it lies in the log, is the one its tag of transaction id names. */
bool jbd2_copy_intact(const struct jbd2_super *s, const struct jbd2_tag *tag, uint32_t id,
		      const uint8_t *copy);
/* To what it was at home. */
void jbd2_unescape(uint8_t *copy);

/* For super.commit_sums: over a transaction's descriptor blocks and copies in their order,
 * from JBD2_SUM_START. */
#define JBD2_SUM_START UINT32_MAX
uint32_t jbd2_sum(const struct jbd2_super *s, uint32_t sum, const uint8_t *block);
bool jbd2_commit_matches(const uint8_t *commit, uint32_t sum);

#endif
