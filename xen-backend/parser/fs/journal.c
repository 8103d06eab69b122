// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows ext4's journal from transaction to transaction and keeps the newest copy of each block;
 * see journal.h.  ext4_live.c calls these functions.
 *
 * "Home" is a block's own place in the file system, as opposed to a copy in the log.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/table.h"
#include "parser/fs/fs_impl.h"
#include "parser/fs/journal.h"

#define MAX_BATCH 64 /* transactions read between two looks at the superblock */
#define MAX_IDLE_ROUNDS 64
#define WRITER_US 200 /* pause while the owner is writing a block */
/* Changes that are remembered after their transactions left the log.  As long as a change is
 * remembered, journal_unchanged() can tell that a replica need not be located again. */
#define MAX_REMEMBERED (256U << 10)

/* The newest committed transaction that holds a copy of a block or revoked the block; in a table by
 * the block's number. */
struct change {
	uint64_t tag; /* the table's */
	uint32_t id;  /* the transaction */
	uint32_t pos; /* block of the log that holds the copy; 0: revoked, no copy counts */
	uint32_t sum; /* sum and escaped: as in struct jbd2_tag */
	bool escaped;
};

/* The place of the log.  Never modified, only replaced; freed when the last reader is done. */
struct shared_log {
	atomic_uint references;
	struct journal_log log;
};

struct journal {
	pthread_mutex_t lock; /* protects everything below */
	struct shared_log *log;
	struct journal_mark now;
	uint32_t head; /* where transaction now.id will begin; 0: unknown, the log is empty */
	uint32_t tail; /* transactions older than it may have left the log */
	/* Of the newest known transaction; none: no transaction was read since the era began.  Its
	 * block is overwritten only after the tail has passed now.id. */
	struct journal_commit last;
	uint32_t known_since; /* changes by transactions older than this one are forgotten */
	struct table changes;
	struct meta_cache cache;
};

/* A copy of the journal's state, which one thread uses while it reads without the lock. */
struct snapshot {
	struct shared_log *log;
	struct journal_mark now;
	uint32_t head, tail;
	struct journal_commit last;
};

struct journal *journal_new(void)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->changes = TABLE_OF(struct change);
	meta_cache_init(&j->cache);
	pthread_mutex_init(&j->lock, NULL);
	return j;
}

static void log_put(struct shared_log *l)
{
	if (!l || atomic_fetch_sub(&l->references, 1) != 1)
		return;
	fs_file_clear(&l->log.file);
	free(l);
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	journal_unload(j);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* Under the lock.  Discards everything learned before. */
static void begin_era(struct journal *j)
{
	j->now.era++;
	table_clear(&j->changes);
	meta_cache_clear(&j->cache);
}

static void begin_log(struct journal *j, const struct jbd2_super *s)
{
	begin_era(j);
	j->now.id = j->tail = j->known_since = s->tail;
	j->head = s->tail_pos;
	j->last.pos = 0;
}

void journal_unload(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	begin_era(j);
	log_put(j->log);
	j->log = NULL;
	pthread_mutex_unlock(&j->lock);
}

int journal_load(struct journal *j, struct fs *fs, struct fs_file *file, uint32_t block_size,
		 uint64_t made, const char **ret_reason)
{
	struct shared_log *l = calloc(1, sizeof(*l));
	uint8_t raw[JBD2_SUPER_BYTES];
	int r;

	if (!l) {
		*ret_reason = "out of memory";
		fs_file_clear(file);
		return -ENOMEM;
	}
	atomic_init(&l->references, 1);
	l->log.fs = fs;
	l->log.file = *file;
	l->log.made = made;
	memset(file, 0, sizeof(*file));
	r = journal_log_super(&l->log, block_size, raw, &l->log.super, ret_reason);
	if (r < 0) {
		log_put(l);
		return r;
	}
	pthread_mutex_lock(&j->lock);
	log_put(j->log);
	j->log = l;
	begin_log(j, &l->log.super);
	pthread_mutex_unlock(&j->lock);
	return 0;
}

static bool snapshot_take(struct journal *j, struct snapshot *s)
{
	pthread_mutex_lock(&j->lock);
	*s = (struct snapshot){j->log, j->now, j->head, j->tail, j->last};
	if (s->log)
		atomic_fetch_add(&s->log->references, 1);
	pthread_mutex_unlock(&j->lock);
	return s->log != NULL;
}

/* Under the lock. */
static bool snapshot_current(const struct journal *j, const struct snapshot *s)
{
	return j->log == s->log && j->now.era == s->now.era && j->now.id == s->now.id &&
	       j->head == s->head && j->tail == s->tail;
}

static bool learn_copy(struct journal *j, uint32_t id, const struct journal_tag *tag)
{
	struct change *c = table_put(&j->changes, tag->tag.block);

	if (!c)
		return false;
	c->id = id;
	c->pos = tag->pos;
	c->sum = tag->tag.sum;
	c->escaped = tag->tag.escaped;
	meta_cache_drop(&j->cache, tag->tag.block);
	return true;
}

/* A block without a known copy is read from home anyway. */
static void learn_revoked(struct journal *j, uint32_t id, uint64_t block)
{
	struct change *c = table_find(&j->changes, block);

	if (c) {
		c->id = id;
		c->pos = 0;
	}
	meta_cache_drop(&j->cache, block);
}

/* Under the lock.  Returns false if out of memory.  The caller must then begin a new era: a change
 * that is not recorded would look like no change. */
static bool learn(struct journal *j, const struct journal_transaction *t)
{
	bool ok = true;

	for (size_t i = 0; i < t->num_tags && ok; i++)
		ok = learn_copy(j, t->id, &t->tags[i]);
	for (size_t i = 0; i < t->num_revoked && ok; i++)
		learn_revoked(j, t->id, t->revoked[i]);
	j->now.id = t->id + 1;
	j->head = t->next;
	j->last = t->commit;
	return ok;
}

static bool is_older(void *record, void *tail)
{
	const struct change *c = record;

	return jbd2_before(c->id, *(const uint32_t *)tail);
}

/* Under the lock. */
static void forget_old(struct journal *j)
{
	if (j->changes.count > MAX_REMEMBERED && table_remove(&j->changes, is_older, &j->tail))
		j->known_since = j->tail;
}

enum outcome { OUTCOME_CURRENT, OUTCOME_AGAIN, OUTCOME_NO_MEMORY };

/* The result of one look at the log. */
struct finding {
	struct journal_transaction transactions[MAX_BATCH]; /* in the order of the log */
	unsigned count;
	int end; /* last result of journal_log_read(); 1: there may be more transactions */
	uint8_t head[JBD2_HEAD_BYTES]; /* bytes where the next transaction begins; read first */
	bool begun;                    /* the next transaction is there, in part or whole */
	bool same;                     /* the newest known transaction is still there; read then */
	uint8_t raw[JBD2_SUPER_BYTES]; /* the superblock; read last */
	struct jbd2_super super;       /* raw, parsed */
};

/* Under the lock. */
static enum outcome restart(struct journal *j, const struct jbd2_super *s)
{
	begin_log(j, s);
	return OUTCOME_AGAIN;
}

/* Under the lock.  Updates the journal from f, which was read while s was the journal's state. */
static enum outcome judge(struct journal *j, const struct snapshot *s, const struct finding *f)
{
	const struct jbd2_super *super = &f->super;

	/* The log is another one, or has dropped transactions that were not read, or the disk went
	 * back to a snapshot, where known transactions were not committed. */
	if (!f->same || jbd2_before(super->tail, s->tail) || jbd2_before(s->now.id, super->tail))
		return restart(j, super);
	j->tail = super->tail;
	if (s->head == 0) {
		j->head = super->tail_pos;
		return super->tail_pos ? OUTCOME_AGAIN : OUTCOME_CURRENT;
	}
	for (unsigned i = 0; i < f->count; i++)
		if (!learn(j, &f->transactions[i])) {
			begin_log(j, super);
			return OUTCOME_NO_MEMORY;
		}
	forget_old(j);
	if (f->count || f->end != 0)
		return OUTCOME_AGAIN;
	if (super->tail_pos == 0) {
		if (super->tail != s->now.id)
			return restart(j, super);
		j->head = 0;
		j->last.pos = 0;
	}
	return OUTCOME_CURRENT;
}

static void read_transactions(const struct snapshot *s, struct finding *f)
{
	uint32_t pos = s->head, id = s->now.id;

	f->count = 0;
	f->end = pos ? 1 : 0;
	while (f->end == 1 && f->count < MAX_BATCH) {
		struct journal_transaction *t = &f->transactions[f->count];

		f->end = journal_log_read(&s->log->log, pos, id, t);
		if (f->end == 1) {
			f->count++;
			pos = t->next;
			id++;
		}
	}
}

/* Adds the bytes that show that nothing more was committed.  If a part of the next transaction is
 * there, these bytes are not enough, and nothing is added. */
static void watch_finding(const struct snapshot *s, const struct finding *f, struct fs_watch *watch)
{
	const struct journal_log *log = &s->log->log;

	if (f->begun)
		return;
	if (s->head)
		fs_watch_add(watch, journal_log_place(log, s->head), f->head, sizeof(f->head));
	if (s->last.pos)
		fs_watch_add(watch, journal_log_place(log, s->last.pos), s->last.bytes,
			     sizeof(s->last.bytes));
	fs_watch_add(watch, journal_log_place(log, 0), f->raw, sizeof(f->raw));
}

static int read_head(const struct snapshot *s, struct finding *f)
{
	int r = s->head ? journal_log_head(&s->log->log, s->head, f->head) : 0;

	f->begun = r == 0 && s->head && jbd2_block_kind(f->head, s->now.id) != JBD2_NONE;
	return r;
}

/* Looks at the log once.  0: everything committed is known; -EAGAIN: look again; other errors are
 * final. */
static int look(struct journal *j, const struct snapshot *s, struct fs_watch *watch, bool *ret_idle,
		const char **ret_reason)
{
	const struct journal_log *log = &s->log->log;
	enum outcome outcome = OUTCOME_AGAIN;
	struct finding f;
	int r = watch ? read_head(s, &f) : 0;

	if (r < 0)
		return r;
	read_transactions(s, &f);
	r = journal_log_has(log, &s->last, &f.same);
	if (r == 0)
		r = journal_log_super(log, log->super.block_size, f.raw, &f.super, ret_reason);
	if (r == 0 && !jbd2_super_same_log(&f.super, &log->super))
		r = -ENODEV;
	if (r == 0) {
		pthread_mutex_lock(&j->lock);
		if (snapshot_current(j, s))
			outcome = judge(j, s, &f);
		*ret_idle = j->head == 0 || j->tail == j->now.id;
		pthread_mutex_unlock(&j->lock);
		if (f.end == -EBUSY)
			*ret_reason =
				"its journal has a transaction from before the file system "
				"was made (left there by mke2fs -E lazy_journal_init, or its "
				"owner's clock was set back), which ends with one of the next "
				"commits";
		if (f.end < 0)
			r = f.end;
		else if (outcome == OUTCOME_NO_MEMORY)
			r = -ENOMEM;
		else if (outcome != OUTCOME_CURRENT)
			r = -EAGAIN;
	}
	if (r == 0 && watch)
		watch_finding(s, &f, watch);
	for (unsigned i = 0; i < f.count; i++)
		journal_transaction_clear(&f.transactions[i]);
	return r;
}

int journal_refresh(struct journal *j, struct journal_mark *ret, struct fs_watch *watch,
		    bool *ret_idle, const char **ret_reason)
{
	uint64_t idle_rounds = 0;
	struct journal_mark last = {0};

	*ret_reason = "its journal changes faster than it can be read";
	for (unsigned round = 0; round < JBD2_MAX_BLOCKS / MAX_BATCH; round++) {
		struct snapshot s;
		int r;

		if (!snapshot_take(j, &s))
			return -ENODEV;
		r = look(j, &s, watch, ret_idle, ret_reason);
		log_put(s.log);
		if (r == 0)
			*ret = s.now;
		if (r != -EAGAIN)
			return r;
		idle_rounds = s.now.era == last.era && s.now.id == last.id ? idle_rounds + 1 : 0;
		if (idle_rounds == MAX_IDLE_ROUNDS)
			return -EAGAIN;
		if (idle_rounds > MAX_IDLE_ROUNDS / 8)
			clock_rest_us(WRITER_US);
		last = s.now;
	}
	return -EAGAIN;
}

/* Under the lock.  True if c names a copy that is still in the log. */
static bool is_in_log(const struct journal *j, const struct change *c)
{
	return c && c->pos && !jbd2_before(c->id, j->tail);
}

static int read_copy(const struct journal_log *log, uint64_t block, const struct change *c,
		     uint8_t *ret)
{
	struct jbd2_tag tag = {block, c->sum, c->escaped};
	int r = journal_log_block(log, c->pos, ret);

	if (r < 0)
		return r;
	if (!jbd2_copy_intact(&log->super, &tag, c->id, ret))
		return -EAGAIN;
	if (c->escaped)
		jbd2_unescape(ret);
	return 0;
}

int journal_read(struct journal *j, struct fs *fs, uint64_t block, uint32_t block_size,
		 struct journal_copy *ret)
{
	struct journal_copy copy = {0};
	struct shared_log *log = NULL;
	const struct change *found;
	struct change change;
	int r;

	pthread_mutex_lock(&j->lock);
	copy.content = meta_cache_find(&j->cache, block);
	found = table_find(&j->changes, block);
	if (!copy.content && j->log && is_in_log(j, found)) {
		change = *found;
		log = j->log;
		atomic_fetch_add(&log->references, 1);
	}
	pthread_mutex_unlock(&j->lock);
	if (copy.content) {
		*ret = copy;
		return 0;
	}
	copy.content = meta_block_new(block, block_size);
	if (!copy.content) {
		log_put(log);
		return -ENOMEM;
	}
	copy.in_log = log != NULL;
	if (log) {
		copy.id = change.id;
		r = log->log.super.block_size == block_size
			    ? read_copy(&log->log, block, &change, copy.content->data)
			    : -EAGAIN;
		log_put(log);
	} else {
		r = volume_read(fs->volume, block * block_size, copy.content->data, block_size);
	}
	if (r < 0) {
		meta_block_put(copy.content);
		return r;
	}
	*ret = copy;
	return 0;
}

/* Under the lock. */
static bool unchanged(const struct journal *j, const struct journal_mark *since, uint64_t block)
{
	const struct change *c = table_find(&j->changes, block);

	return !c || jbd2_before(c->id, since->id);
}

/* Under the lock.  True if all changes since the mark are known. */
static bool is_remembered(const struct journal *j, const struct journal_mark *since)
{
	return j->log && since->era == j->now.era && !jbd2_before(since->id, j->known_since);
}

bool journal_unchanged(struct journal *j, const struct journal_mark *since, const uint64_t *blocks,
		       size_t count)
{
	bool same;

	pthread_mutex_lock(&j->lock);
	same = is_remembered(j, since);
	for (size_t i = 0; i < count && same; i++)
		same = unchanged(j, since, blocks[i]);
	pthread_mutex_unlock(&j->lock);
	return same;
}

bool journal_confirm(struct journal *j, const struct journal_mark *since,
		     const struct journal_copy *copies, size_t count)
{
	bool same;

	pthread_mutex_lock(&j->lock);
	same = is_remembered(j, since);
	for (size_t i = 0; i < count && same; i++)
		same = unchanged(j, since, copies[i].content->block) &&
		       !(copies[i].in_log && jbd2_before(copies[i].id, j->tail));
	for (size_t i = 0; i < count && same; i++)
		meta_cache_add(&j->cache, copies[i].content, j->log->log.super.block_size);
	pthread_mutex_unlock(&j->lock);
	return same;
}

bool journal_covers(struct journal *j, uint64_t offset, uint64_t length)
{
	bool covers = false;

	pthread_mutex_lock(&j->lock);
	if (j->log && length && j->tail != j->now.id) {
		uint32_t size = j->log->log.super.block_size;
		uint64_t last = (offset + length - 1) / size;

		for (uint64_t b = offset / size; b <= last && !covers; b++)
			covers = is_in_log(j, table_find(&j->changes, b));
	}
	pthread_mutex_unlock(&j->lock);
	return covers;
}
