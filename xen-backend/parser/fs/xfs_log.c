// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows an XFS log from record to record and keeps the newest log items; see xfs_log.h.  xfs.c,
 * xfs_view.c, xfs_map.c and xfs_dir.c call these functions.
 *
 * "Home" is the own place of an inode or block in the file system, as opposed to the log.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_checkpoint.h"
#include "parser/fs/xfs_find_head.h"
#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_item.h"
#include "parser/fs/xfs_log.h"

#define MAX_ROUNDS 64
#define REFUSED_SECONDS 1 /* pause before a refused log is read again */
#define BACK_RECORDS 8U   /* records that XFS writes at a time, at most */
#define WRITER_TRIES 16
#define WRITER_US 200 /* pause while the owner is writing a sector */
#define OVERLAY_BYTES (64U << 20)
#define OVERLAY_TIDY_BYTES (4U << 20)
/* Changes that are remembered after they were written home.  As long as a change is remembered,
 * xfs_log_unchanged() can tell that a replica need not be located again. */
#define OVERLAY_TIDY_COUNT (64U << 10)

struct xfs_log {
	/* Held by the thread that reads new records, across I/O.  Protects three fields:
	 * checkpoints, record and refused_until. */
	pthread_mutex_t learning;
	struct xfs_checkpoints checkpoints; /* not committed yet */
	uint8_t *record;                    /* buffer of XFS_RECORD_MAX_BYTES */
	time_t refused_until;

	pthread_mutex_t lock; /* protects everything below; writers hold learning too */
	bool loaded;
	struct xfs_now now;
	uint8_t raw_super[XFS_SUPER_BYTES]; /* superblock at loading, or at unmount */
	struct xfs_place next, tail;
	uint32_t last; /* sector of the last known record */
	uint8_t last_header[XFS_BASIC_BLOCK];
	uint32_t known_since; /* changes by checkpoints before this one may be forgotten */
	size_t tidy_bytes, tidy_count;
	struct xfs_overlay overlay;
	struct meta_cache cache;
};

/* A copy of the log's state, which one thread uses while it reads without the lock. */
struct snapshot {
	struct xfs_now now;
	struct xfs_place next;
	uint32_t last;
	uint8_t last_header[XFS_BASIC_BLOCK];
	uint8_t raw_super[XFS_SUPER_BYTES];
};

static const char not_known[] = "its log has items that vRead does not support, or too many items";

/* Seconds of a clock that never goes back. */
static time_t now(void)
{
	return (time_t)(clock_ms() / 1000);
}

struct xfs_log *xfs_log_new(void)
{
	struct xfs_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->record = malloc(XFS_RECORD_MAX_BYTES);
	if (!l->record) {
		free(l);
		return NULL;
	}
	l->overlay = XFS_OVERLAY_EMPTY;
	meta_cache_init(&l->cache);
	pthread_mutex_init(&l->learning, NULL);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

/* Under the lock.  Discards everything learned before. */
static void begin_era(struct xfs_log *l)
{
	l->now.mark.era++;
	l->now.mark.id = l->known_since = 1;
	meta_cache_clear(&l->cache);
	xfs_overlay_clear(&l->overlay);
	l->tidy_bytes = OVERLAY_TIDY_BYTES;
	l->tidy_count = OVERLAY_TIDY_COUNT;
}

/* Under learning. */
static void unload(struct xfs_log *l)
{
	xfs_checkpoints_clear(&l->checkpoints);
	pthread_mutex_lock(&l->lock);
	begin_era(l);
	l->loaded = false;
	pthread_mutex_unlock(&l->lock);
}

void xfs_log_free(struct xfs_log *l)
{
	if (!l)
		return;
	unload(l);
	pthread_mutex_destroy(&l->learning);
	pthread_mutex_destroy(&l->lock);
	free(l->record);
	free(l);
}

/* ---- the superblock ---- */

static int read_super(struct fs *fs, uint8_t *raw, struct xfs_super *ret, const char **ret_reason)
{
	uint32_t length = XFS_SUPER_BYTES;
	int r;

	*ret_reason = "its superblock cannot be read";
	if (fs->length < XFS_MAX_SECTOR || volume_read(fs->volume, 0, raw, length) < 0)
		return -EIO;
	r = xfs_super_parse(raw, length, fs->length, ret, ret_reason);
	if (r != -EIO || ret->sector_size <= length || ret->sector_size > XFS_MAX_SECTOR)
		return r;
	length = ret->sector_size;
	if (volume_read(fs->volume, 0, raw, length) < 0)
		return -EIO;
	return xfs_super_parse(raw, length, fs->length, ret, ret_reason);
}

int xfs_log_super(struct fs *fs, uint8_t raw[XFS_SUPER_BYTES], struct xfs_super *ret,
		  const char **ret_reason)
{
	uint8_t *sector = calloc(1, XFS_MAX_SECTOR);
	int r = -EIO;

	*ret_reason = "out of memory";
	if (!sector)
		return -ENOMEM;
	/* The owner may be writing the superblock. */
	for (unsigned i = 0; i < WRITER_TRIES && r == -EIO; i++) {
		if (i)
			clock_rest_us(WRITER_US);
		r = read_super(fs, sector, ret, ret_reason);
	}
	memcpy(raw, sector, XFS_SUPER_BYTES);
	free(sector);
	if (r == 0 && memcmp(ret->uuid, fs->uuid, sizeof(fs->uuid))) {
		*ret_reason = "another file system is in its place";
		return -EIO;
	}
	return r;
}

/* ---- learning ---- */

struct lesson {
	struct xfs_log *log;
	struct xfs_place at; /* place of the record */
	bool owners;         /* as *ret_owners of xfs_item_take() */
};

static int learn_change(void *ctx, uint64_t key, uint8_t *item, uint32_t size)
{
	struct lesson *lesson = ctx;
	struct xfs_log *l = lesson->log;
	struct xfs_change c = {0, l->now.mark.id, lesson->at, size, item};

	meta_cache_drop(&l->cache, key);
	return xfs_overlay_put(&l->overlay, key, &c) ? 0 : -ENOMEM;
}

static int learn_item(void *ctx, const struct xfs_region *regions, unsigned count)
{
	struct lesson *lesson = ctx;

	return xfs_item_take(&lesson->log->now.super, regions, count, &lesson->owners, learn_change,
			     lesson);
}

static int learn_commit(void *ctx)
{
	struct lesson *lesson = ctx;
	struct xfs_log *l = lesson->log;

	/* A new era, so that everything read before the mount, or before blocks changed owners, is
	 * read again.  The changes of this checkpoint stay in the overlay. */
	if (l->now.idle || lesson->owners) {
		l->now.mark.era++;
		meta_cache_clear(&l->cache);
	}
	l->now.idle = lesson->owners = false;
	return ++l->now.mark.id == UINT32_MAX ? -ENODEV : 0; /* ids run out: load anew */
}

static int learn_unmount(void *ctx)
{
	struct lesson *lesson = ctx;

	begin_era(lesson->log);
	lesson->log->now.idle = true;
	return 0;
}

static const struct xfs_checkpoint_ops lessons = {learn_item, learn_commit, learn_unmount};

/* Under the lock. */
static int tidy(struct xfs_log *l)
{
	if (l->overlay.bytes <= l->tidy_bytes && l->overlay.changes.count <= l->tidy_count)
		return 0;
	if (!xfs_overlay_forget(&l->overlay, l->tail))
		return -ENOMEM;
	l->known_since = l->now.mark.id;
	if (l->overlay.bytes > OVERLAY_BYTES)
		return -EOPNOTSUPP;
	l->tidy_bytes = OVERLAY_TIDY_BYTES + 2 * l->overlay.bytes;
	l->tidy_count = OVERLAY_TIDY_COUNT + 2 * l->overlay.changes.count;
	return 0;
}

/* Under learning.  Takes record r; its unpacked bytes are in l->record. */
static int learn_record(struct xfs_log *l, const struct xfs_record *r, const uint8_t *header)
{
	struct lesson lesson = {.log = l, .at = r->at};
	int result;

	pthread_mutex_lock(&l->lock);
	result = xfs_checkpoints_take(&l->checkpoints, r, l->record, &lessons, &lesson);
	l->next = r->next;
	if (xfs_place_before(l->tail, r->tail))
		l->tail = r->tail;
	l->last = r->at.sector;
	memcpy(l->last_header, header, XFS_BASIC_BLOCK);
	if (result == 0)
		result = tidy(l);
	pthread_mutex_unlock(&l->lock);
	return result;
}

/* Under learning.  Reads the next record.  Returns an enum xfs_found, or an error. */
static int learn_one(struct xfs_log *l, struct fs *fs)
{
	struct xfs_record record;
	int found = -EAGAIN, r;

	for (unsigned i = 0; i < WRITER_TRIES && found == -EAGAIN; i++) {
		if (i)
			clock_rest_us(WRITER_US);
		found = xfs_record_read(fs, &l->now.super, l->next, l->record, &record);
	}
	if (found != XFS_FOUND_RECORD)
		return found;
	/* Unpacking has not changed the header in l->record. */
	r = learn_record(l, &record, l->record);
	return r < 0 ? r : XFS_FOUND_RECORD;
}

/* Under learning.  Reads records up to the end of the log.  0; -ENODEV: another log, or a
 * checkpoint was missed; or another error. */
static int learn_all(struct xfs_log *l, struct fs *fs, const char **ret_reason)
{
	bool was_idle = l->now.idle;
	const char *reason;
	struct xfs_super super;
	int found;

	do
		found = learn_one(l, fs);
	while (found == XFS_FOUND_RECORD);
	if (found == XFS_FOUND_LATER || (found >= 0 && l->checkpoints.missed))
		return -ENODEV;
	if (found < 0) {
		*ret_reason = not_known;
		return found == -EOPNOTSUPP ? -EBUSY : found;
	}
	if (!was_idle && l->now.idle) {
		uint8_t raw[XFS_SUPER_BYTES];

		if (xfs_log_super(fs, raw, &super, &reason) < 0)
			return -ENODEV;
		pthread_mutex_lock(&l->lock);
		memcpy(l->raw_super, raw, sizeof(raw));
		pthread_mutex_unlock(&l->lock);
	}
	return 0;
}

/* Under learning.  Begins a new era and reads all records from start on.  -EAGAIN: the records do
 * not reach newest, a record that is known to exist. */
static int load_from(struct xfs_log *l, struct fs *fs, const struct xfs_super *super,
		     const uint8_t *raw, struct xfs_place start, struct xfs_place newest,
		     const char **ret_reason)
{
	int r;

	xfs_checkpoints_clear(&l->checkpoints);
	l->checkpoints.first = start;
	pthread_mutex_lock(&l->lock);
	begin_era(l);
	l->now.super = *super;
	l->now.idle = false;
	memcpy(l->raw_super, raw, sizeof(l->raw_super));
	l->next = l->tail = start;
	pthread_mutex_unlock(&l->lock);
	r = learn_all(l, fs, ret_reason);
	if (r == 0 && !xfs_place_before(newest, l->next)) {
		*ret_reason = "its log is damaged, or changes faster than it can be read";
		r = -EAGAIN;
	}
	return r;
}

/*
 * Under learning.  Loads the log from the tail of the newest record on.
 *
 * A checkpoint that is committed after the tail may have begun before the tail.  That checkpoint
 * need not be home, if the tail was set while there was nothing else to write home.  If such a
 * checkpoint is found, loading starts again from further back.  Reading more of the past than is
 * needed does no harm.
 */
static int load(struct xfs_log *l, struct fs *fs, const char **ret_reason)
{
	uint8_t raw[XFS_SUPER_BYTES];
	struct xfs_super super;
	struct xfs_record newest;
	struct xfs_place start;
	int r = xfs_log_super(fs, raw, &super, ret_reason);

	if (r < 0)
		return r;
	r = xfs_find_record(fs, &super, l->record, &newest, ret_reason);
	if (r < 0)
		return r;
	/* mkfs and xfs_repair write one unmount record, and there are none before. */
	start = xfs_record_is_unmount(&newest, l->record) ? newest.at : newest.tail;
	r = load_from(l, fs, &super, raw, start, newest.at, ret_reason);
	for (unsigned back = BACK_RECORDS; r == -ENODEV && l->checkpoints.missed; back *= 4) {
		r = xfs_find_before(fs, &super, &start, back);
		if (r == 0)
			r = load_from(l, fs, &super, raw, start, newest.at, ret_reason);
	}
	if (r < 0)
		return r;
	pthread_mutex_lock(&l->lock);
	l->loaded = true;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* Under the lock. */
static void snapshot_fill(const struct xfs_log *l, struct snapshot *s)
{
	s->now = l->now;
	s->next = l->next;
	s->last = l->last;
	memcpy(s->last_header, l->last_header, sizeof(s->last_header));
	memcpy(s->raw_super, l->raw_super, sizeof(s->raw_super));
}

static bool snapshot_take(struct xfs_log *l, struct snapshot *s)
{
	bool loaded;

	pthread_mutex_lock(&l->lock);
	loaded = l->loaded;
	if (loaded)
		snapshot_fill(l, s);
	pthread_mutex_unlock(&l->lock);
	return loaded;
}

static bool is_current(struct xfs_log *l, const struct snapshot *s)
{
	bool same;

	pthread_mutex_lock(&l->lock);
	same = l->loaded && l->now.mark.era == s->now.mark.era && xfs_place_equal(l->next, s->next);
	pthread_mutex_unlock(&l->lock);
	return same;
}

/* Reads the records that follow s, unless another thread has read records since s was taken. */
static int catch_up(struct xfs_log *l, struct fs *fs, const struct snapshot *s,
		    const char **ret_reason)
{
	int r = 0;

	pthread_mutex_lock(&l->learning);
	if (is_current(l, s)) {
		r = learn_all(l, fs, ret_reason);
		if (r < 0 && r != -EAGAIN && r != -EIO)
			unload(l);
	}
	pthread_mutex_unlock(&l->learning);
	return r == -ENODEV ? 0 : r;
}

/* Unloads the log, unless another thread has read records since s was taken. */
static void forget(struct xfs_log *l, const struct snapshot *s)
{
	pthread_mutex_lock(&l->learning);
	if (is_current(l, s))
		unload(l);
	pthread_mutex_unlock(&l->learning);
}

static int load_if_needed(struct xfs_log *l, struct fs *fs, const char **ret_reason)
{
	int r = 0;

	pthread_mutex_lock(&l->learning);
	if (!l->loaded && now() < l->refused_until) {
		*ret_reason = not_known;
		r = -EBUSY;
	} else if (!l->loaded) {
		r = load(l, fs, ret_reason);
		if (r < 0)
			unload(l);
		if (r == -EBUSY)
			l->refused_until = now() + REFUSED_SECONDS;
	}
	pthread_mutex_unlock(&l->learning);
	return r == -ENODEV ? 0 : r;
}

enum outcome { OUTCOME_CURRENT, OUTCOME_MORE, OUTCOME_OTHER };

/* Adds the bytes that show that nothing more was committed.  Not called while the file system is
 * idle, because answers then also rest on the bytes at home (xfs_view.c). */
static void watch_log(const struct snapshot *s, const uint8_t *next, struct fs_watch *watch)
{
	const struct xfs_super *super = &s->now.super;

	fs_watch_add(watch, xfs_sector_offset(super, s->next.sector), next, XFS_CYCLE_BYTES);
	fs_watch_add(watch, xfs_sector_offset(super, s->last), s->last_header, XFS_BASIC_BLOCK);
}

/* Looks at the log once.  Returns an enum outcome, or -EIO. */
static int look(struct fs *fs, const struct snapshot *s, struct fs_watch *watch)
{
	const struct xfs_super *super = &s->now.super;
	uint8_t next[XFS_BASIC_BLOCK], last[XFS_BASIC_BLOCK], raw[XFS_SUPER_BYTES];
	uint32_t cycle;
	int r = xfs_log_sectors(fs, super, s->next.sector, 1, next);

	if (r < 0)
		return r;
	cycle = xfs_sector_cycle(next);
	if (cycle > s->next.cycle)
		return OUTCOME_OTHER;
	r = xfs_log_sectors(fs, super, s->last, 1, last);
	if (r < 0)
		return r;
	if (memcmp(last, s->last_header, sizeof(last)))
		return OUTCOME_OTHER;
	if (cycle == s->next.cycle)
		return OUTCOME_MORE;
	if (!s->now.idle && watch)
		watch_log(s, next, watch);
	if (!s->now.idle)
		return OUTCOME_CURRENT;
	r = volume_read(fs->volume, 0, raw, sizeof(raw));
	if (r < 0)
		return r;
	return memcmp(raw, s->raw_super, sizeof(raw)) ? OUTCOME_OTHER : OUTCOME_CURRENT;
}

int xfs_log_refresh(struct xfs_log *l, struct fs *fs, struct xfs_now *ret, struct fs_watch *watch,
		    const char **ret_reason)
{
	struct snapshot s;
	int r = 0;

	for (unsigned round = 0; round < MAX_ROUNDS && r == 0; round++) {
		*ret_reason = "its log changes faster than it can be read";
		if (!snapshot_take(l, &s)) {
			r = load_if_needed(l, fs, ret_reason);
			continue;
		}
		r = look(fs, &s, watch);
		if (r < 0)
			break;
		if (r == OUTCOME_MORE) {
			r = catch_up(l, fs, &s, ret_reason);
			/* The next record is there in part.  The record was not committed when it
			 * was read, so everything committed by then is known. */
			if (r == 0 && is_current(l, &s))
				r = 1;
		} else if (r == OUTCOME_OTHER) {
			forget(l, &s);
			r = 0;
		} else {
			r = 1;
		}
		if (r > 0)
			*ret = s.now;
	}
	if (r > 0)
		return 0;
	return r < 0 ? r : -EAGAIN;
}

/* ---- reading ---- */

bool xfs_key_place(const struct xfs_super *s, uint64_t key, uint64_t *ret_offset,
		   uint32_t *ret_size)
{
	if (key & XFS_KEY_INODE) {
		*ret_size = s->inode_size;
		return xfs_super_inode(s, key & ~XFS_KEY_INODE, ret_offset);
	}
	*ret_size = s->block_size;
	if (key >= s->length / s->block_size)
		return false;
	*ret_offset = key * s->block_size;
	return true;
}

enum xfs_origin xfs_origin(const struct xfs_super *s, const struct meta_block *m)
{
	return m->data[m->block & XFS_KEY_INODE ? s->inode_size : s->block_size];
}

static bool is_inode(const struct xfs_super *s, uint64_t number, const uint8_t *inode)
{
	return xfs_get16(inode) == XFS_INODE_MAGIC && inode[XFS_INODE_VERSION] == 3 &&
	       xfs_get64(inode + XFS_INODE_NUMBER) == number &&
	       !memcmp(inode + XFS_INODE_UUID, s->meta_uuid, sizeof(s->meta_uuid)) &&
	       xfs_sum_right(inode, s->inode_size, XFS_INODE_SUM);
}

/* Applies the item of c, if c has one, to data, the bytes read from home.  Returns an enum
 * xfs_origin, or -EAGAIN. */
static int lay_over(const struct xfs_super *s, uint64_t key, const struct xfs_change *c,
		    uint8_t *data)
{
	uint64_t number = key & ~XFS_KEY_INODE;
	bool home;
	int r;

	if (!(key & XFS_KEY_INODE)) {
		if (!c->item)
			return XFS_AT_HOME;
		xfs_item_lay_on_block(s, c->item, c->size, data);
		return XFS_LAID_OVER;
	}
	home = is_inode(s, number, data);
	if (!c->item)
		return home ? XFS_AT_HOME : XFS_DAMAGED;
	r = xfs_item_lay_on_inode(s, number, c->item, c->size, home, data);
	if (r == -EAGAIN)
		return r;
	return r == 0 ? XFS_LAID_OVER : XFS_DAMAGED;
}

/* Reads content from home and applies change c, which the caller took before.  A change that is
 * forgotten in between was written home, so either c or the bytes at home have the change. */
static int read_new(struct fs *fs, const struct xfs_super *s, const struct xfs_change *c,
		    struct meta_block *content)
{
	uint64_t offset;
	uint32_t size;
	int r = -EAGAIN;

	if (!xfs_key_place(s, content->block, &offset, &size))
		return -EIO;
	for (unsigned i = 0; i < WRITER_TRIES && r == -EAGAIN; i++) {
		if (i)
			clock_rest_us(WRITER_US);
		r = volume_read(fs->volume, offset, content->data, size);
		if (r == 0)
			r = lay_over(s, content->block, c, content->data);
	}
	if (r < 0)
		return r;
	content->data[size] = (uint8_t)r;
	return 0;
}

/* Under the lock.  Sets *ret to the change of key, with a copy of the item; free() ret->item.  NULL
 * in ret->item: the bytes at home are current. */
static int copy_change(const struct xfs_log *l, uint64_t key, struct xfs_change *ret)
{
	const struct xfs_change *c = xfs_overlay_find(&l->overlay, key);

	*ret = (struct xfs_change){0};
	if (!c || !c->item)
		return 0;
	*ret = *c;
	ret->item = malloc(c->size + 1);
	if (!ret->item)
		return -ENOMEM;
	memcpy(ret->item, c->item, c->size);
	return 0;
}

int xfs_log_read(struct xfs_log *l, struct fs *fs, const struct xfs_super *s, uint64_t key,
		 struct meta_block **ret)
{
	struct meta_block *content;
	struct xfs_change change = {0};
	int r = 0;

	pthread_mutex_lock(&l->lock);
	/* Another file system is in place of this one, with other sizes. */
	if (l->now.super.block_size != s->block_size || l->now.super.inode_size != s->inode_size) {
		pthread_mutex_unlock(&l->lock);
		return -EAGAIN;
	}
	content = meta_cache_find(&l->cache, key);
	if (!content)
		r = copy_change(l, key, &change);
	pthread_mutex_unlock(&l->lock);
	if (content) {
		*ret = content;
		return 0;
	}
	if (r < 0)
		return r;
	content = meta_block_new(key, (key & XFS_KEY_INODE ? s->inode_size : s->block_size) + 1);
	r = content ? read_new(fs, s, &change, content) : -ENOMEM;
	free(change.item);
	if (r < 0)
		meta_block_put(content);
	else
		*ret = content;
	return r;
}

/* Under the lock. */
static bool unchanged(const struct xfs_log *l, const struct xfs_mark *since, uint64_t key)
{
	const struct xfs_change *c = xfs_overlay_find(&l->overlay, key);

	return !c || c->id < since->id;
}

/* Under the lock.  True if all changes since the mark are known. */
static bool is_remembered(const struct xfs_log *l, const struct xfs_mark *since)
{
	return l->loaded && since->era == l->now.mark.era && since->id >= l->known_since;
}

bool xfs_log_unchanged(struct xfs_log *l, const struct xfs_mark *since, const uint64_t *keys,
		       size_t count)
{
	bool same;

	pthread_mutex_lock(&l->lock);
	same = is_remembered(l, since);
	for (size_t i = 0; i < count && same; i++)
		same = unchanged(l, since, keys[i]);
	pthread_mutex_unlock(&l->lock);
	return same;
}

bool xfs_log_confirm(struct xfs_log *l, const struct xfs_now *since,
		     struct meta_block *const *reads, size_t count)
{
	bool same;

	pthread_mutex_lock(&l->lock);
	same = is_remembered(l, &since->mark);
	for (size_t i = 0; i < count && same; i++)
		same = unchanged(l, &since->mark, reads[i]->block);
	for (size_t i = 0; i < count && same && !l->now.idle; i++)
		if (xfs_origin(&since->super, reads[i]) != XFS_DAMAGED)
			meta_cache_add(&l->cache, reads[i], l->now.super.block_size);
	pthread_mutex_unlock(&l->lock);
	return same;
}
