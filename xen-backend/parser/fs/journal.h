/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - what a mounted ext4's journal says, known to all readers; private to
 * fs/.
 *
 * ext4 writes metadata home only after the transaction that changed it was
 * committed to the log (checkpointing), and gives a transaction's place in the log
 * to another only after all it holds is home and the journal's superblock, whose
 * tail says so, was written.  Hence, as long as the tail has not passed them:
 *
 * - every transaction from the tail to the newest committed one is whole in the log;
 * - a block with no copy among them is at home as the newest of them left it, and
 *   nobody is writing it;
 * - a block with a copy is what the newest copy says, whatever is at home.
 *
 * journal_refresh() learns what was committed meanwhile.  It reads the place of the
 * next transaction first and the superblock second: the tail not having passed that
 * place, what was read there was true when it was read.
 *
 * A mark is a moment of that knowledge.  A block read by journal_read() after a mark
 * is as it was at the mark, unless journal_unchanged() says otherwise.
 *
 * Threads: all functions, any thread.  The lock is not held across I/O: what was read
 * without it is used only if nobody was faster.
 */
#ifndef VREAD_FS_JOURNAL_H
#define VREAD_FS_JOURNAL_H

#include "parser/fs/journal_log.h"
#include "parser/fs/meta_cache.h"

struct journal;

struct journal_mark {
	uint64_t era; /* begins anew whenever the thread of transactions was lost */
	uint32_t id;  /* of the first transaction not known to be committed */
};

/* What was read of a block, and how. */
struct journal_copy {
	struct meta_block *content;
	bool in_log;
	uint32_t id; /* if in_log: of the transaction */
};

struct journal *journal_new(void); /* NULL: out of memory */
void journal_free(struct journal *j);

/* Begins a new era with the log in *file of fs, which it takes over; 0, or as
 * jbd2_super_parse(). */
int journal_load(struct journal *j, struct fs *fs, struct fs_file *file, uint32_t block_size,
		 const char **ret_reason);
/* Forgets the log: the file system is not mounted, or another one. */
void journal_unload(struct journal *j);

/*
 * Learns what was committed by now.  0 and *ret; *watch, if wanted, gets what was looked at if
 * that alone can tell that there is nothing more; *ret_idle: the log is empty, so
 * nobody need have the file system mounted.  -ENODEV: nothing is loaded; -EAGAIN: it
 * is changing too fast; else as jbd2_super_parse().
 */
int journal_refresh(struct journal *j, struct journal_mark *ret, struct fs_watch *watch,
		    bool *ret_idle, const char **ret_reason);
/* Reads block of the file system, of block_size bytes: 0, -EAGAIN its copy in the log is gone,
 * -EIO, -ENOMEM. */
int journal_read(struct journal *j, struct fs *fs, uint64_t block, uint32_t block_size,
		 struct journal_copy *ret);

/* Whether, to present knowledge, none of the blocks was changed since the mark. */
bool journal_unchanged(struct journal *j, const struct journal_mark *since, const uint64_t *blocks,
		       size_t count);
/* Likewise of copies read since; they are then what the blocks hold now, and cached. */
bool journal_confirm(struct journal *j, const struct journal_mark *since,
		     const struct journal_copy *copies, size_t count);
/* Whether the log holds a copy of one of the blocks these bytes of the file system lie in. */
bool journal_covers(struct journal *j, uint64_t offset, uint64_t length);

#endif
