// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads transactions of ext4's journal from the image; see journal_log.h.  journal.c calls these
 * functions.
 *
 * The owner may be writing the same blocks at the same time.  Checksums distinguish a transaction
 * that is written in part (-EAGAIN) from a transaction that is not there (0).  The answer "not
 * committed" must never be given for a committed transaction.  If the journal has no checksums,
 * descriptor and revoke blocks are read again after the commit block was read, because by then the
 * owner no longer changes these blocks.
 *
 * mke2fs -E lazy_journal_init leaves in the ring what an earlier file system had there.  Ids begin
 * anew, so transactions of the earlier one may follow those of this one, with right checksums.  The
 * times in commit blocks tell.  They are the owner's clock, which may have been set back, so a
 * transaction from before mke2fs is neither committed nor absent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/journal_log.h"
#include "base/scratch.h"

#define MAX_REVOKED (1U << 20)

int journal_log_block(const struct journal_log *log, uint32_t pos, uint8_t *ret)
{
	uint32_t size = log->super.block_size;

	return fs_file_read(log->fs, &log->file, (uint64_t)pos * size, ret, size) < 0 ? -EIO : 0;
}

int journal_log_head(const struct journal_log *log, uint32_t pos, uint8_t ret[JBD2_HEAD_BYTES])
{
	uint64_t offset = (uint64_t)pos * log->super.block_size;

	return fs_file_read(log->fs, &log->file, offset, ret, JBD2_HEAD_BYTES) < 0 ? -EIO : 0;
}

int journal_log_has(const struct journal_log *log, const struct journal_commit *c, bool *ret)
{
	uint64_t offset = (uint64_t)c->pos * log->super.block_size;
	uint8_t now[JBD2_COMMIT_BYTES];

	*ret = true;
	if (c->pos == 0)
		return 0;
	if (fs_file_read(log->fs, &log->file, offset, now, sizeof(now)) < 0)
		return -EIO;
	*ret = !memcmp(now, c->bytes, sizeof(now));
	return 0;
}

uint64_t journal_log_place(const struct journal_log *log, uint32_t pos)
{
	uint64_t offset = (uint64_t)pos * log->super.block_size;

	return fs_file_piece(&log->file, offset, offset + log->super.block_size).physical;
}

int journal_log_super(const struct journal_log *log, uint32_t block_size,
		      uint8_t raw[JBD2_SUPER_BYTES], struct jbd2_super *ret,
		      const char **ret_reason)
{
	struct jbd2_super s;
	int r;

	if (fs_file_read(log->fs, &log->file, 0, raw, JBD2_SUPER_BYTES) < 0) {
		*ret_reason = "its journal cannot be read";
		return -EIO;
	}
	r = jbd2_super_parse(raw, block_size, &s, ret_reason);
	if (r < 0)
		return r;
	if ((uint64_t)s.end * block_size > log->file.size) {
		*ret_reason = "its journal is longer than the file it lies in";
		return -EIO;
	}
	*ret = s;
	return 0;
}

void journal_transaction_clear(struct journal_transaction *t)
{
	free(t->tags);
	free(t->revoked);
	memset(t, 0, sizeof(*t));
}

/* Returns the array with room for one more element of size bytes.  The array grows by doubling.
 * NULL: out of memory, array is unchanged. */
static void *grow(void *array, size_t count, size_t size)
{
	if (count && (count < 16 || (count & (count - 1))))
		return array;
	return reallocarray(array, count ? 2 * count : 16, size);
}

struct reading {
	const struct journal_log *log;
	struct journal_transaction *t;
	uint32_t pos;
	uint32_t left; /* blocks of the ring the reading has not passed yet */
	uint32_t sum;
	uint8_t *block, *copy;
};

/* Moves to the next block.  -EAGAIN: the transaction is longer than the ring.  Then a descriptor
 * block was read while it was being written, or the guest is hostile. */
static int pass(struct reading *r)
{
	if (r->left == 0)
		return -EAGAIN;
	r->left--;
	r->pos = jbd2_next(&r->log->super, r->pos);
	return 0;
}

static int add_tag(struct reading *r, const struct jbd2_tag *tag)
{
	struct journal_transaction *t = r->t;
	struct journal_tag *grown = grow(t->tags, t->num_tags, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->tags = grown;
	t->tags[t->num_tags++] = (struct journal_tag){*tag, r->pos};
	return 0;
}

static int add_copy_to_sum(struct reading *r)
{
	int error = journal_log_block(r->log, r->pos, r->copy);

	if (error == 0)
		r->sum = jbd2_sum(&r->log->super, r->sum, r->copy);
	return error;
}

/* Reads the descriptor block in r->block and moves r->pos past the copies that follow. */
static int read_descriptor(struct reading *r)
{
	const struct jbd2_super *s = &r->log->super;
	struct jbd2_tag tag;
	size_t offset = 0;
	int error = 0;

	if (s->commit_sums)
		r->sum = jbd2_sum(s, r->sum, r->block);
	while (error == 0 && jbd2_next_tag(s, r->block, &offset, &tag)) {
		error = add_tag(r, &tag);
		if (error == 0 && s->commit_sums)
			error = add_copy_to_sum(r);
		if (error == 0)
			error = pass(r);
	}
	return error;
}

static int read_revokes(struct reading *r)
{
	struct journal_transaction *t = r->t;
	size_t offset = 0;
	uint64_t block;

	while (jbd2_next_revoke(&r->log->super, r->block, &offset, &block)) {
		uint64_t *grown = grow(t->revoked, t->num_revoked, sizeof(*grown));

		if (!grown || t->num_revoked == MAX_REVOKED) {
			t->revoked = grown ? grown : t->revoked;
			return grown ? -EIO : -ENOMEM;
		}
		t->revoked = grown;
		t->revoked[t->num_revoked++] = block;
	}
	return 0;
}

static int read_commit(const struct reading *r, uint32_t pos)
{
	uint64_t time = jbd2_commit_time(r->block);

	r->t->commit.pos = pos;
	memcpy(r->t->commit.bytes, r->block, sizeof(r->t->commit.bytes));
	if (r->log->super.commit_sums && !jbd2_commit_matches(r->block, r->sum))
		return -EAGAIN;
	return time && time < r->log->made ? -EBUSY : 1;
}

static int read_once(struct reading *r, uint32_t pos, uint32_t id)
{
	const struct jbd2_super *s = &r->log->super;
	int error = 0;

	r->pos = pos; /* the caller guarantees that pos is inside the ring */
	r->left = s->end - s->first;
	r->sum = JBD2_SUM_START;
	while (error == 0) {
		uint32_t at = r->pos;
		enum jbd2_kind kind;

		error = journal_log_block(r->log, at, r->block);
		if (error < 0)
			return error;
		kind = jbd2_block_kind(r->block, id);
		if (kind == JBD2_NONE)
			return 0;
		if (!jbd2_block_intact(s, r->block, kind))
			return -EAGAIN;
		error = pass(r);
		if (error == 0 && kind == JBD2_DESCRIPTOR)
			error = read_descriptor(r);
		else if (error == 0 && kind == JBD2_REVOKE)
			error = read_revokes(r);
		else if (error == 0)
			error = read_commit(r, at);
	}
	return error;
}

int journal_log_read(const struct journal_log *log, uint32_t pos, uint32_t id,
		     struct journal_transaction *ret)
{
	struct journal_transaction t = {.id = id};
	uint8_t *blocks = scratch_get(SCRATCH_LOG, 2 * (size_t)log->super.block_size);
	struct reading r = {.log = log, .t = &t};
	int found;

	if (!blocks)
		return -ENOMEM;
	r.block = blocks;
	r.copy = blocks + log->super.block_size;
	found = read_once(&r, pos, id);
	if ((found == 1 || found == -EBUSY) && !log->super.tag_sums) {
		int first = found;

		journal_transaction_clear(&t);
		t.id = id;
		found = read_once(&r, pos, id) == first ? first : -EAGAIN;
	}
	if (found != 1) {
		journal_transaction_clear(&t);
		return found;
	}
	t.next = r.pos;
	*ret = t;
	return 1;
}
