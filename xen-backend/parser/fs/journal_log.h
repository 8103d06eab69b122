/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal_log.h - a journal's transactions, read from the image; private to fs/.
 *
 * No state but where the log lies: journal.c decides when what is read here is
 * true.
 */
#ifndef VREAD_FS_JOURNAL_LOG_H
#define VREAD_FS_JOURNAL_LOG_H

#include "parser/fs/fs.h"
#include "parser/fs/jbd2.h"

struct journal_log {
	struct fs *fs;
	struct fs_file file; /* the log's block n is its block n */
	struct jbd2_super super;
};

struct journal_tag {
	struct jbd2_tag tag;
	uint32_t pos; /* of the copy */
};

struct journal_transaction {
	uint32_t id;
	uint32_t next; /* where the transaction after it begins */
	struct journal_tag *tags;
	size_t num_tags;
	uint64_t *revoked;
	size_t num_revoked;
};

/* Reads the superblock as it is now, without touching log->super; as jbd2_super_parse().  raw is
 * filled with its bytes. */
int journal_log_super(const struct journal_log *log, uint32_t block_size,
		      uint8_t raw[JBD2_SUPER_BYTES], struct jbd2_super *ret,
		      const char **ret_reason);
/* Where it is, and where the block at pos is, in the volume. */
uint64_t journal_log_place(const struct journal_log *log, uint32_t pos);

/*
 * The transaction that begins at pos, if it is that of id and committed: 1 and *ret, to be
 * released.  0: it is not committed.  -EAGAIN: it cannot be told yet, -EIO, -ENOMEM.
 */
int journal_log_read(const struct journal_log *log, uint32_t pos, uint32_t id,
		     struct journal_transaction *ret);
void journal_transaction_clear(struct journal_transaction *t);

/* The block at pos as it lies in the log: 0, -EIO. */
int journal_log_block(const struct journal_log *log, uint32_t pos, uint8_t *ret);
/* Its first bytes: all that jbd2_block_kind() looks at. */
int journal_log_head(const struct journal_log *log, uint32_t pos, uint8_t ret[JBD2_HEAD_BYTES]);

#endif
