/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4.h - the ext2/3/4 reader, on libext2fs; private to fs/.
 *
 * ext4_super.c checks a superblock before libext2fs sees it, ext4_io.c feeds
 * libext2fs from the image, ext4_groups.c keeps group descriptors, ext4_map.c turns an
 * inode into extents, ext4_inline.c finds files that lie in theirs, ext4_live.c follows a
 * mounted file system's journal, ext4.c ties them to fs_impl.h.
 */
#ifndef VREAD_FS_EXT4_H
#define VREAD_FS_EXT4_H

#include <ext2fs/ext2fs.h>
#include <pthread.h>

#include "parser/fs/fs_impl.h"

#define EXT4_SUPER_OFFSET 1024U

extern const struct fs_ops ext4_ops;

/* What every mount, check and tuning changes, and nothing else does. */
struct ext4_mount {
	uint64_t made, checked, mounted;
	uint32_t times, journal_inode;
};

struct ext4_super {
	uint64_t blocks;
	uint32_t block_size;
	uint32_t inode_size;
	uint32_t descriptor_bytes; /* of all block groups; at most 64 MiB */
	uint8_t uuid[16];
	enum fs_state state;
	const char *refusal; /* static text, if FS_REFUSED */
	uint32_t journal_inode;
	struct ext4_mount mount;
};

/* Pure: checks the fields that decide how much libext2fs allocates and reads, for a
 * file system in length bytes.  false: *ret_reason says which is wrong. */
bool ext4_super_parse(const uint8_t raw[FS_SUPER_BYTES], uint64_t length, struct ext4_super *ret,
		      const char **ret_reason);

struct ext4_groups; /* shared by views of one mount */

struct ext4_group_store {
	pthread_mutex_t lock; /* of the pointer: held to copy or change it */
	struct ext4_groups *groups;
};

struct fs_reader {
	struct ext4_live *live;
	struct ext4_group_store groups;
};

struct ext4_view {
	struct fs_view view; /* first: see fs_impl.h */
	struct ext4_super super;
	uint8_t raw_super[FS_SUPER_BYTES]; /* the one copy that is checked and used */
	uint64_t budget;                   /* bytes of metadata this view may still read */
	ext2_filsys filsys;
	struct ext4_groups *groups; /* filsys has its descriptors from there; NULL: its own */

	struct fs_stamp stamp;    /* if clean: from before anything else was read */
	struct ext4_reads *reads; /* if view.live */
};

bool ext4_same_mount(const struct ext4_mount *a, const struct ext4_mount *b);

/* Reads and checks the superblock at home: 0, or -EIO with *ret_reason. */
int ext4_read_super(struct fs *fs, uint8_t raw[FS_SUPER_BYTES], struct ext4_super *ret,
		    const char **ret_reason);
/* A view of what is at home, whoever may be writing it; as fs_view_open(). */
int ext4_home_view(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES], const struct ext4_super *super,
		   struct ext4_view **ret, const char **ret_reason);
void ext4_view_free(struct ext4_view *v);

/* Opens v->filsys over the image.  v->raw_super must be filled.  super_only: without group
 * descriptors. */
errcode_t ext4_io_open(struct ext4_view *v, bool super_only);
/* Metadata as libext2fs sees it; offset from the start of the file system. */
int ext4_io_read(struct ext4_view *v, uint64_t offset, void *buf, size_t length);

/* ext4_groups.c.  A view first looks whether there are descriptors for it, then, with v->filsys
 * open without any, whether they are enough; if either is false it reads its own and
 * lets others have them. */
void ext4_groups_init(struct ext4_group_store *s);
void ext4_groups_release(struct ext4_group_store *s);
bool ext4_groups_find(struct ext4_group_store *s, struct ext4_view *v);
bool ext4_groups_lend(struct ext4_view *v);
void ext4_groups_keep(struct ext4_group_store *s, struct ext4_view *v);
/* Before v->filsys is freed. */
void ext4_groups_return(struct ext4_view *v);

/* ext4_live.c, for FS_LIVE. */
struct ext4_live *ext4_live_new(void); /* NULL: out of memory */
void ext4_live_release(struct ext4_live *l);
/* What was known of its journal is not to be relied on. */
void ext4_live_end(struct fs *fs);
/* Prepares v, whose superblock was just read at home: fills v->reads and takes the committed
 * superblock for v's. */
int ext4_live_begin(struct ext4_view *v, const char **ret_reason);
void ext4_reads_free(struct ext4_reads *reads); /* NULL is ignored */
/* As ext4_io_read(), within the file system. */
int ext4_live_read(struct ext4_view *v, uint64_t offset, uint8_t *buf, size_t length);
/* From now on what is read counts: v->filsys is open. */
void ext4_live_record(struct ext4_view *v);
int ext4_live_confirm(struct ext4_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
int ext4_live_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
bool ext4_live_settled(struct fs *fs, uint64_t offset, uint64_t length);

/* Where the bytes of a file lie that has them in its inode: first head, then tail. */
struct ext4_inline {
	const uint8_t *head, *tail;
	size_t head_length, tail_length;
};

/* Pure: looks into a whole raw inode of size bytes.  false: they are not there. */
bool ext4_inline_find(const uint8_t *inode, size_t size, struct ext4_inline *ret);

int ext4_map(struct ext4_view *v, ext2_ino_t inode, struct fs_file *ret);
int ext4_errno(errcode_t error);

#endif
