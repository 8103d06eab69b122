/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_log.h - reads transactions of ext4's journal from the image; private to fs/.  journal.c
 * calls it, and decides whether what was read is valid.
 *
 * The only state is the place and the geometry of the log.
 */
#ifndef VREAD_FS_JOURNAL_LOG_H
#define VREAD_FS_JOURNAL_LOG_H

#include "parser/fs/fs.h"
#include "parser/fs/jbd2.h"

struct journal_log {
	struct fs *fs;
	struct fs_file file; /* the journal's inode; block n of the file is block n of the log */
	struct jbd2_super super;
	/* When the file system was made, in seconds since 1970, or when it was mounted, if its
	 * owner's clock says that this was earlier.  0: unknown. */
	uint64_t made;
};

struct journal_tag {
	struct jbd2_tag tag;
	uint32_t pos; /* block of the log that holds the copy */
};

/* The first bytes of a commit block.  Two transactions differ in them, also if they have one id:
 * by checksum or time. */
struct journal_commit {
	uint32_t pos; /* 0: none */
	uint8_t bytes[JBD2_COMMIT_BYTES];
};

struct journal_transaction {
	uint32_t id;
	uint32_t next; /* position where the next transaction begins */
	struct journal_commit commit;
	struct journal_tag *tags;
	size_t num_tags;
	uint64_t *revoked;
	size_t num_revoked;
};

/* Reads the journal's superblock as of now into raw and *ret, and leaves log->super as it is.
 * Errors as jbd2_super_parse(). */
int journal_log_super(const struct journal_log *log, uint32_t block_size,
		      uint8_t raw[JBD2_SUPER_BYTES], struct jbd2_super *ret,
		      const char **ret_reason);
/* Offset in the volume, in bytes, of the log's block at pos; of the journal's superblock for 0. */
uint64_t journal_log_place(const struct journal_log *log, uint32_t pos);

/*
 * Reads the transaction with this id at pos.  1: the transaction is committed; release *ret with
 * journal_transaction_clear().  0: the transaction is not committed.  -EAGAIN: the blocks read do
 * not tell whether the transaction is committed; -EBUSY: a transaction lies there that says it is
 * older than the file system; -EIO, -ENOMEM.
 */
int journal_log_read(const struct journal_log *log, uint32_t pos, uint32_t id,
		     struct journal_transaction *ret);
void journal_transaction_clear(struct journal_transaction *t);

/* Reads the block at pos as it lies in the log: 0, -EIO. */
int journal_log_block(const struct journal_log *log, uint32_t pos, uint8_t *ret);
/* Reads the first bytes of the block at pos, as many as jbd2_block_kind() needs: 0, -EIO. */
int journal_log_head(const struct journal_log *log, uint32_t pos, uint8_t ret[JBD2_HEAD_BYTES]);
/* Sets *ret to true if the log still has the commit block c, or c is none.  0, -EIO. */
int journal_log_has(const struct journal_log *log, const struct journal_commit *c, bool *ret);

#endif
