/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - follows the journal of a mounted ext4 and reads metadata blocks in their newest
 * committed state; private to fs/.  ext4_live.c calls it.
 *
 * "Home" is a block's own place in the file system, as opposed to a copy in the log.  ext4 writes
 * metadata home only after the transaction that changed the metadata was committed to the log
 * (checkpointing).  ext4 reuses a transaction's place in the log only after all blocks of the
 * transaction are home and the tail in the journal's superblock has moved past the transaction.
 * Therefore, as long as the tail has not passed them:
 *
 * - every transaction from the tail to the newest committed one is whole in the log;
 * - a block with no copy in these transactions is home in the state that the newest of these
 *   transactions left, and nobody is writing the block;
 * - a block with a copy has the content of the newest copy, whatever is at home.
 *
 * journal_refresh() learns which transactions were committed since the last call.  The function
 * reads the place of the next transaction first and the superblock second.  If the tail has not
 * passed that place, nobody had reused the place when it was read.
 *
 * A mark is a moment of the journal's history.  A block read by journal_read() after a mark is as
 * it was at the mark, unless journal_unchanged() returns false.
 *
 * Threads: any thread may call any function.  The lock is not held across I/O.  What a thread
 * learned from I/O without the lock is used only if no other thread learned something meanwhile.
 */
#ifndef VREAD_FS_JOURNAL_H
#define VREAD_FS_JOURNAL_H

#include "parser/fs/journal_log.h"
#include "parser/fs/meta_cache.h"

struct journal;

struct journal_mark {
	uint64_t era; /* a new era begins whenever transactions may have been missed */
	uint32_t id;  /* the first transaction that is not known to be committed */
};

/* The content of a block, and where the content was read. */
struct journal_copy {
	struct meta_block *content;
	bool in_log; /* read from the log; false: from home or from the cache */
	uint32_t id; /* if in_log: the transaction */
};

struct journal *journal_new(void); /* NULL: out of memory */
void journal_free(struct journal *j);

/* Begins a new era with the log in *file of fs.  Takes over the content of *file, also on failure.
 * made: as in struct journal_log.  Returns 0 or an error as jbd2_super_parse(). */
int journal_load(struct journal *j, struct fs *fs, struct fs_file *file, uint32_t block_size,
		 uint64_t made, const char **ret_reason);
/* Forgets the log.  Called when the file system is no longer mounted, or is another one. */
void journal_unload(struct journal *j);

/*
 * Learns which transactions were committed by now.  Returns 0 and sets *ret.  watch may be NULL;
 * *watch gets the pieces of the volume that were read, if these pieces alone can tell that nothing
 * more was committed.  *ret_idle is true if the log is empty; then the file system may be
 * unmounted.  -ENODEV: no journal is loaded, or another journal lies there; -EAGAIN: the journal
 * changes too fast; other errors as jbd2_super_parse().
 */
int journal_refresh(struct journal *j, struct journal_mark *ret, struct fs_watch *watch,
		    bool *ret_idle, const char **ret_reason);
/* Reads a block of the file system, of block_size bytes.  Release ret->content with
 * meta_block_put().  0, -EAGAIN: the copy in the log is gone; -EIO, -ENOMEM. */
int journal_read(struct journal *j, struct fs *fs, uint64_t block, uint32_t block_size,
		 struct journal_copy *ret);

/* True if no transaction learned so far has changed one of the blocks since the mark. */
bool journal_unchanged(struct journal *j, const struct journal_mark *since, const uint64_t *blocks,
		       size_t count);
/* As journal_unchanged(), for copies that were read after the mark.  If true, the copies are the
 * current content of the blocks, and are added to the cache. */
bool journal_confirm(struct journal *j, const struct journal_mark *since,
		     const struct journal_copy *copies, size_t count);
/* True if the log holds a copy of a block that these bytes of the file system lie in. */
bool journal_covers(struct journal *j, uint64_t offset, uint64_t length);

#endif
