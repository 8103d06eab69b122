/* SPDX-License-Identifier: GPL-2.0-or-later */
/* piece.h - a part of a block that is verified at once; private to read/. */
#ifndef VREAD_READ_PIECE_H
#define VREAD_READ_PIECE_H

#include "read/replica.h"

struct piece {
	uint64_t start, end; /* whole chunks, or the block's end */
	uint8_t *data;
	uint8_t *sums;
};

/*
 * Before p is read: whether all of it is where its files say, 0 or as replica_check(), -EAGAIN: some
 * of it is in a journal of data only.  What is at home there may be a block that was deleted, whose
 * checksums are right; and it may leave the journal as soon as it was read.
 */
int piece_settled(const struct block_replica *r, const struct piece *p);

/* Whether p->data is what the block holds: by its checksums, and still.  A mismatch
 * in a replica that changed says nothing about its data.  0, -EBADMSG, or as replica_check(). */
int piece_verify(const struct block_replica *r, const struct piece *p);

#endif
