// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads metadata of a mounted ext4: blocks at their own places, or their newest committed copies in
 * the journal.  ext4.c, ext4_io.c and ext4_groups.c call these functions.
 *
 * A view reads each block once, keeps the block, and records its number.  At the end the view
 * checks that no transaction committed since its beginning has changed one of these blocks.  Then
 * the view has seen one committed state.  The same list of blocks is the basis of an answer
 * (struct fs_basis): directories, inodes and extent trees on the way to the file.
 *
 * Two kinds of blocks are read but not recorded.  Group descriptors change with every allocation,
 * but the reader uses only the places of inode tables, which never change during a mount.  The
 * geometry in the superblock changes only when the file system grows, which moves nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"
#include "parser/fs/journal.h"

struct ext4_live {
	struct journal *journal;
	/* Held while the place of the journal is found, across I/O.  That happens once per mount,
	 * and no thread can go on before. */
	pthread_mutex_t loading;
	struct ext4_mount mount; /* the mount that the journal belongs to; under loading */
	bool loaded;             /* under loading */
};

struct ext4_reads {
	struct journal_mark mark;
	bool recording;
	bool lost; /* a read failed with -EAGAIN, which libext2fs cannot return */
	uint32_t count, capacity;
	struct journal_copy *copies;
	struct table index; /* struct fs_read by block: where in copies */
};

struct ext4_live *ext4_live_new(void)
{
	struct ext4_live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->journal = journal_new();
	if (!l->journal) {
		free(l);
		return NULL;
	}
	pthread_mutex_init(&l->loading, NULL);
	return l;
}

void ext4_live_release(struct ext4_live *l)
{
	journal_free(l->journal);
	pthread_mutex_destroy(&l->loading);
	free(l);
}

void ext4_live_end(struct fs *fs)
{
	struct ext4_live *l = fs->reader->live;

	pthread_mutex_lock(&l->loading);
	if (l->loaded)
		journal_unload(l->journal);
	l->loaded = false;
	pthread_mutex_unlock(&l->loading);
}

bool ext4_same_mount(const struct ext4_mount *a, const struct ext4_mount *b)
{
	return a->made == b->made && a->checked == b->checked && a->mounted == b->mounted &&
	       a->times == b->times && a->journal_inode == b->journal_inode;
}

/* Finds the journal's extents.  The journal's inode never changes, so the inode at its own place is
 * current. */
static int map_journal(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES],
		       const struct ext4_super *super, struct fs_file *ret, const char **ret_reason)
{
	struct ext4_view *v;
	int r = ext4_home_view(fs, raw, super, &v, ret_reason);

	if (r < 0)
		return r;
	*ret_reason = "its journal's inode is damaged";
	r = super->journal_inode >= EXT2_ROOT_INO &&
			    super->journal_inode <= v->filsys->super->s_inodes_count
		    ? ext4_map(v, super->journal_inode, ret)
		    : -EIO;
	ext4_view_free(v);
	if (r == 0 && fs_file_first_hole(ret, 0, ret->size) == ret->size)
		return 0;
	fs_file_clear(ret);
	return r == -ENOMEM ? r : -EIO;
}

/* Under loading. */
static int load(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES], const struct ext4_super *super,
		const char **ret_reason)
{
	struct ext4_live *l = fs->reader->live;
	uint64_t made = super->mount.made, mounted = super->mount.mounted;
	struct fs_file file = {0};
	int r = map_journal(fs, raw, super, &file, ret_reason);

	if (r < 0)
		return r;
	r = journal_load(l->journal, fs, &file, super->block_size, mounted < made ? mounted : made,
			 ret_reason);
	if (r < 0)
		return r;
	l->mount = super->mount;
	l->loaded = true;
	return 0;
}

static int load_if_needed(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES],
			  const struct ext4_super *super, const char **ret_reason)
{
	struct ext4_live *l = fs->reader->live;
	int r = 0;

	pthread_mutex_lock(&l->loading);
	if (!l->loaded || !ext4_same_mount(&l->mount, &super->mount))
		r = load(fs, raw, super, ret_reason);
	pthread_mutex_unlock(&l->loading);
	return r;
}

/* Called when the log is empty.  Checks that the file system is still in the mount that was loaded,
 * because changes to an unmounted file system leave no trace in the journal. */
static int check_mount(struct fs *fs, struct fs_watch *watch, const char **ret_reason)
{
	struct ext4_live *l = fs->reader->live;
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	bool same;
	int r = ext4_read_super(fs, raw, &super, ret_reason);

	if (r < 0)
		return r;
	pthread_mutex_lock(&l->loading);
	same = l->loaded && super.state == FS_LIVE && ext4_same_mount(&l->mount, &super.mount);
	pthread_mutex_unlock(&l->loading);
	if (same && watch && watch->count)
		fs_watch_add(watch, EXT4_SUPER_OFFSET, raw, sizeof(raw));
	if (same)
		return 0;
	ext4_live_end(fs);
	*ret_reason = "it was unmounted or mounted meanwhile";
	return -EAGAIN;
}

/* Learns which transactions were committed by now. */
static int refresh(struct fs *fs, struct journal_mark *ret, struct fs_watch *watch,
		   const char **ret_reason)
{
	bool idle = false;
	int r = journal_refresh(fs->reader->live->journal, ret, watch, &idle, ret_reason);

	if (r == -ENODEV) { /* unloaded, or the log has another geometry */
		ext4_live_end(fs);
		return -EAGAIN;
	}
	return r == 0 && idle ? check_mount(fs, watch, ret_reason) : r;
}

/* ---- a view's reads ---------------------------------------------------------- */

static struct meta_block *find_read(const struct ext4_reads *reads, uint64_t block)
{
	const struct fs_read *read = table_find(&reads->index, block);

	return read ? reads->copies[read->at].content : NULL;
}

static int add_read(struct ext4_reads *reads, const struct journal_copy *copy)
{
	struct fs_read *read;

	if (reads->count == reads->capacity) {
		uint32_t capacity = reads->capacity ? 2 * reads->capacity : 32;
		struct journal_copy *copies =
			reallocarray(reads->copies, capacity, sizeof(*copies));

		if (!copies)
			return -ENOMEM;
		reads->copies = copies;
		reads->capacity = capacity;
	}
	read = table_put(&reads->index, copy->content->block);
	if (!read)
		return -ENOMEM;
	read->at = reads->count;
	reads->copies[reads->count++] = *copy;
	return 0;
}

/* Reads one block and copies length bytes of the block, from offset skip on, to buf. */
static int read_part(struct ext4_view *v, uint64_t block, size_t skip, uint8_t *buf, size_t length)
{
	struct ext4_reads *reads = v->reads;
	struct meta_block *known = find_read(reads, block);
	struct journal_copy copy;
	int r;

	if (known) {
		memcpy(buf, known->data + skip, length);
		return 0;
	}
	r = journal_read(v->view.fs->reader->live->journal, v->view.fs, block, v->super.block_size,
			 &copy);
	reads->lost |= r == -EAGAIN;
	if (r < 0)
		return r;
	memcpy(buf, copy.content->data + skip, length);
	if (reads->recording) {
		r = add_read(reads, &copy);
		if (r == 0)
			return 0;
	}
	meta_block_put(copy.content);
	return r;
}

int ext4_live_read(struct ext4_view *v, uint64_t offset, uint8_t *buf, size_t length)
{
	uint32_t size = v->super.block_size;

	while (length > 0) {
		size_t skip = offset % size;
		size_t n = length < size - skip ? length : size - skip;
		int r = read_part(v, offset / size, skip, buf, n);

		if (r < 0)
			return r;
		offset += n;
		buf += n;
		length -= n;
	}
	return 0;
}

void ext4_live_record(struct ext4_view *v)
{
	v->reads->recording = true;
}

void ext4_reads_free(struct ext4_reads *reads)
{
	if (!reads)
		return;
	for (uint32_t i = 0; i < reads->count; i++)
		meta_block_put(reads->copies[i].content);
	free(reads->copies);
	table_clear(&reads->index);
	free(reads);
}

/* Replaces the superblock in v by the committed one.  When the geometry changes, ext4 writes the
 * superblock through the journal too. */
static int take_committed_super(struct ext4_view *v, const char **ret_reason)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	int r = ext4_live_read(v, EXT4_SUPER_OFFSET, raw, sizeof(raw));

	*ret_reason = "its superblock cannot be read";
	if (r < 0)
		return r;
	if (!ext4_super_parse(raw, v->view.fs->length, &super, ret_reason) ||
	    super.block_size != v->super.block_size)
		return -EIO;
	memcpy(v->raw_super, raw, sizeof(raw));
	v->super = super;
	return 0;
}

int ext4_live_begin(struct ext4_view *v, const char **ret_reason)
{
	struct fs *fs = v->view.fs;
	int r = load_if_needed(fs, v->raw_super, &v->super, ret_reason);

	if (r < 0)
		return r;
	v->reads = calloc(1, sizeof(*v->reads));
	if (!v->reads)
		return -ENOMEM;
	v->reads->index = TABLE_OF(struct fs_read);
	v->view.live = true;
	r = refresh(fs, &v->reads->mark, NULL, ret_reason);
	return r < 0 ? r : take_committed_super(v, ret_reason);
}

/* ---- what an answer rests on ---------------------------------------------------- */

int ext4_live_confirm(struct ext4_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	struct ext4_reads *reads = v->reads;
	struct journal_mark now;
	struct fs_basis *b;
	const char *reason;
	int r = reads->lost ? -EAGAIN : refresh(v->view.fs, &now, ret_watch, &reason);

	if (r < 0)
		return r;
	if (!journal_confirm(v->view.fs->reader->live->journal, &reads->mark, reads->copies,
			     reads->count))
		return -EAGAIN;
	if (!ret)
		return 0;
	b = calloc(1, sizeof(*b) + reads->count * sizeof(b->blocks[0]));
	if (!b)
		return -ENOMEM;
	b->live = true;
	b->era = now.era;
	atomic_init(&b->id, now.id);
	b->count = reads->count;
	for (uint32_t i = 0; i < reads->count; i++)
		b->blocks[i] = reads->copies[i].content->block;
	*ret = b;
	return 0;
}

int ext4_live_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch)
{
	struct journal_mark since = {b->era, atomic_load(&b->id)}, now;
	const char *reason;
	int r = refresh(fs, &now, ret_watch, &reason);

	if (r < 0)
		return r;
	if (!journal_unchanged(fs->reader->live->journal, &since, b->blocks, b->count))
		return -EAGAIN;
	/* Threads may store ids in any order.  After an older id the next check looks at more. */
	atomic_store(&b->id, now.id);
	return 0;
}

bool ext4_live_settled(struct fs *fs, uint64_t offset, uint64_t length)
{
	return !journal_covers(fs->reader->live->journal, offset, length);
}
