/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * piece.h - a part of a block that is verified in one go; private to read/. read.c implements the
 * functions. read.c calls them, ahead_direct.c piece_settled(), verified_cache.c piece_sum().
 */
#ifndef VREAD_READ_PIECE_H
#define VREAD_READ_PIECE_H

#include "read/checksum.h"
#include "read/replica.h"

struct piece {
	uint64_t start, end; /* whole chunks; the last may end at the block's end */
	uint8_t *data;
	uint8_t *sums;
};

/*
 * Call before p is read. Checks that all of p is at its place in the extents of the block's files.
 * 0, or an error as replica_check(). -EAGAIN also if a part of p is only in a journal that holds
 * data. The place in the extents may then still hold a deleted block with correct checksums. The
 * data may leave the journal as soon as the place was read, so a check after the read is not
 * enough.
 */
int piece_settled(const struct block_replica *r, const struct piece *p);

/*
 * Checks that p->data is what the block holds: the data matches p->sums, and the replica is still
 * the same. A mismatch in a replica that has changed says nothing about the data. 0, -EBADMSG,
 * -ENODATA if the owner may not have written the piece yet, or an error as replica_check().
 */
int piece_verify(const struct block_replica *r, const struct piece *p);

/*
 * Reads and verifies one chunk of the first hole in the data, and of the first in .meta, below
 * offset end of the block. So a block whose bytes the owner has not written yet is found at once.
 * 0, also without a hole, or an error as piece_verify().
 */
int piece_check_holes(struct block_replica *r, uint64_t end);

/* Returns the CRC32C of the bytes [from, to) of the block, a part of p. p was verified. */
static inline uint32_t piece_sum(const struct block_replica *r, const struct piece *p,
				 uint64_t from, uint64_t to)
{
	return checksum_of(&r->files.header, p->data, p->sums, (size_t)(from - p->start),
			   (size_t)(to - p->start));
}

#endif
