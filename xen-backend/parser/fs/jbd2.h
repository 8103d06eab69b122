/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jbd2.h - the on-disk format of ext4's journal (jbd2); private to fs/.  journal_log.c and
 * journal.c call these functions.
 *
 * The log is a ring of blocks from super.first up to super.end.  A transaction is a run of blocks:
 *
 *   revoke block      names file-system blocks whose older copies no longer count
 *   descriptor block  has a tag for each copy that follows the descriptor block
 *   copies            new contents of file-system blocks, one per tag
 *   commit block      ends the transaction and makes the transaction valid
 *
 * Revoke, descriptor and commit blocks carry the id of their transaction.  Ids go up by one and
 * wrap.
 *
 * All functions are pure and accept hostile bytes.
 */
#ifndef VREAD_FS_JBD2_H
#define VREAD_FS_JBD2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JBD2_SUPER_BYTES 1024U
#define JBD2_HEAD_BYTES 12U        /* header of a revoke, descriptor or commit block */
#define JBD2_COMMIT_BYTES 64U      /* of a commit block: its checksum, and when it was written */
#define JBD2_MAX_BLOCKS (1U << 20) /* 4 GiB in 4 KiB blocks; mke2fs makes at most a quarter */

enum jbd2_kind {
	JBD2_NONE, /* not a revoke, descriptor or commit block of that transaction */
	JBD2_DESCRIPTOR = 1,
	JBD2_COMMIT = 2,
	JBD2_REVOKE = 5,
};

struct jbd2_super {
	/* These do not change while the file system is mounted. */
	uint32_t block_size;
	uint32_t first, end; /* the ring: blocks [first, end) */
	uint32_t seed;       /* start value of checksums */
	bool wide;           /* 64-bit block numbers */
	bool tag_sums;       /* every copy, descriptor, revoke and commit block has a checksum */
	bool wide_tag_sums;  /* checksums in tags have 32 bits rather than 16 */
	bool commit_sums;    /* a commit block has a checksum of its transaction */
	/* These do. */
	uint32_t tail; /* oldest transaction whose copies may not be written to their blocks yet */
	uint32_t tail_pos; /* first block of tail; 0: all copies are written to their blocks */
};

/* Parses the journal's superblock.  0; -EAGAIN the checksum is wrong, because the owner is writing
 * the superblock; -EBUSY a journal that this code must not read; -EIO impossible values.  On error
 * *ret_reason says why. */
int jbd2_super_parse(const uint8_t raw[JBD2_SUPER_BYTES], uint32_t block_size,
		     struct jbd2_super *ret, const char **ret_reason);
/* True if the fields that do not change during a mount are the same in a and b. */
bool jbd2_super_same_log(const struct jbd2_super *a, const struct jbd2_super *b);

/* True if transaction id a is older than b.  Ids wrap. */
static inline bool jbd2_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* The position in the ring after pos. */
static inline uint32_t jbd2_next(const struct jbd2_super *s, uint32_t pos)
{
	return pos + 1 >= s->end ? s->first : pos + 1;
}

/* The kind of a block in the log, if the block belongs to transaction id.  Reads JBD2_HEAD_BYTES
 * of the block. */
enum jbd2_kind jbd2_block_kind(const uint8_t *block, uint32_t id);
/* True if the checksum of a descriptor, revoke or commit block is right, or blocks of this journal
 * have no checksums. */
bool jbd2_block_intact(const struct jbd2_super *s, const uint8_t *block, enum jbd2_kind kind);

struct jbd2_tag {
	uint64_t block; /* file-system block that the copy belongs to */
	uint32_t sum;   /* checksum of the copy, if super.tag_sums */
	bool escaped;   /* the block began with jbd2's magic number; the copy begins with 0 */
};

/* Reads the tag at *offset of a descriptor block and moves *offset to the next tag.  The first call
 * passes 0 in *offset.  false: no more tags. */
bool jbd2_next_tag(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		   struct jbd2_tag *ret);
/* As jbd2_next_tag(), for the block numbers in a revoke block. */
bool jbd2_next_revoke(const struct jbd2_super *s, const uint8_t *block, size_t *offset,
		      uint64_t *ret);
/* True if copy, as read from the log (not unescaped), matches the checksum in its tag of
 * transaction id, or tags of this journal have no checksums. */
bool jbd2_copy_intact(const struct jbd2_super *s, const struct jbd2_tag *tag, uint32_t id,
		      const uint8_t *copy);
/* Puts the magic number back into an escaped copy. */
void jbd2_unescape(uint8_t *copy);

/* For journals with super.commit_sums.  jbd2_sum() adds a block to a transaction's checksum, which
 * covers descriptor blocks and copies in the order of the log and starts as JBD2_SUM_START. */
#define JBD2_SUM_START UINT32_MAX
uint32_t jbd2_sum(const struct jbd2_super *s, uint32_t sum, const uint8_t *block);
/* The time in a commit block, in seconds since 1970; 0: none. */
uint64_t jbd2_commit_time(const uint8_t *commit);
/* True if a commit block has this checksum, or has none. */
bool jbd2_commit_matches(const uint8_t *commit, uint32_t sum);

#endif
