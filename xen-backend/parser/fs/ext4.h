/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4.h - the ext2/3/4 reader, on libext2fs; private to fs/.
 *
 * ext4.c        implements struct fs_ops with the files below
 * ext4_super.c  checks a superblock before libext2fs sees the superblock
 * ext4_io.c     lets libext2fs read the image
 * ext4_groups.c shares group descriptors between views
 * ext4_map.c    turns an inode into extents
 * ext4_link.c  reads symbolic links
 * ext4_inline.c finds the bytes of a file that lie in the inode
 * ext4_index.c  looks a name up by the hash index of a directory
 * ext4_live.c   follows the journal of a mounted file system
 */
#ifndef VREAD_FS_EXT4_H
#define VREAD_FS_EXT4_H

#include <ext2fs/ext2fs.h>
#include <pthread.h>

#include "parser/fs/fs_impl.h"

#define EXT4_SUPER_OFFSET 1024U

extern const struct fs_ops ext4_ops;

/* Fields of the superblock that every mount, check and tuning changes, and nothing else changes. */
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
	const char *refusal; /* if state is FS_REFUSED: why; static text */
	uint32_t journal_inode;
	struct ext4_mount mount;
};

/* Pure.  Checks the fields that decide how much libext2fs allocates and reads, for a file system
 * in a volume of length bytes.  false: *ret_reason says which field is wrong. */
bool ext4_super_parse(const uint8_t raw[FS_SUPER_BYTES], uint64_t length, struct ext4_super *ret,
		      const char **ret_reason);

struct ext4_groups; /* group descriptors, shared by views of one mount */

struct ext4_group_store {
	pthread_mutex_t lock; /* held to copy or change the pointer below */
	struct ext4_groups *groups;
};

struct fs_reader {
	struct ext4_live *live;
	struct ext4_group_store groups;
};

struct ext4_view {
	struct fs_view view; /* first: see fs_impl.h */
	struct ext4_super super;
	uint8_t raw_super[FS_SUPER_BYTES]; /* the only copy; both checked and used */
	uint64_t budget;                   /* bytes of metadata this view may still read */
	ext2_filsys filsys;
	struct ext4_groups *groups; /* descriptors lent to filsys; NULL: filsys has its own */

	struct fs_stamp stamp;    /* if clean: taken before anything else was read */
	struct ext4_reads *reads; /* if view.live */
};

bool ext4_same_mount(const struct ext4_mount *a, const struct ext4_mount *b);

/* Reads the superblock from its own place in the image (not from the journal) and checks the
 * superblock: 0, or -EIO with *ret_reason. */
int ext4_read_super(struct fs *fs, uint8_t raw[FS_SUPER_BYTES], struct ext4_super *ret,
		    const char **ret_reason);
/* Opens a view of the blocks at their own places in the image, without the journal, even if the
 * owner may be writing the blocks.  Parameters and errors as fs_view_open(). */
int ext4_home_view(struct fs *fs, const uint8_t raw[FS_SUPER_BYTES], const struct ext4_super *super,
		   struct ext4_view **ret, const char **ret_reason);
void ext4_view_free(struct ext4_view *v);

/* Opens v->filsys over the image.  v->raw_super must be filled.  super_only: do not read group
 * descriptors. */
errcode_t ext4_io_open(struct ext4_view *v, bool super_only);
/* Reads metadata as libext2fs sees it.  offset counts from the start of the file system. */
int ext4_io_read(struct ext4_view *v, uint64_t offset, void *buf, size_t length);

/*
 * ext4_groups.c: group descriptors shared by views.
 *
 * ext4_groups_find() looks for descriptors in the store that fit view v.  If the store has some,
 * the caller opens v->filsys without descriptors and calls ext4_groups_lend(), which returns false
 * if the descriptors are too few or have another size.  If either function returns false, the
 * caller reads the descriptors from the image and calls ext4_groups_keep() to share them with
 * other views.
 */
void ext4_groups_init(struct ext4_group_store *s);
void ext4_groups_release(struct ext4_group_store *s);
bool ext4_groups_find(struct ext4_group_store *s, struct ext4_view *v);
bool ext4_groups_lend(struct ext4_view *v);
void ext4_groups_keep(struct ext4_group_store *s, struct ext4_view *v);
/* Must be called before v->filsys is freed. */
void ext4_groups_return(struct ext4_view *v);

/* ext4_live.c: functions for file systems in state FS_LIVE. */
struct ext4_live *ext4_live_new(void); /* NULL: out of memory */
void ext4_live_release(struct ext4_live *l);
/* Forgets everything known of the journal of fs. */
void ext4_live_end(struct fs *fs);
/* Prepares v.  v->raw_super was just read from its own place in the image.  Fills v->reads and
 * replaces the superblock in v by the committed one. */
int ext4_live_begin(struct ext4_view *v, const char **ret_reason);
void ext4_reads_free(struct ext4_reads *reads); /* NULL is ignored */
/* As ext4_io_read(); the range must lie inside the file system. */
int ext4_live_read(struct ext4_view *v, uint64_t offset, uint8_t *buf, size_t length);
/* Starts recording the blocks that v reads.  Called once v->filsys is open. */
void ext4_live_record(struct ext4_view *v);
/* The next two: as fs_view_confirm() and fs_basis_check(), for a live view or basis. */
int ext4_live_confirm(struct ext4_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
int ext4_live_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
/* As settled() in struct fs_ops. */
bool ext4_live_settled(struct fs *fs, uint64_t offset, uint64_t length);

/* The bytes of a file that are stored in its inode: first head, then tail. */
struct ext4_inline {
	const uint8_t *head, *tail;
	size_t head_length, tail_length;
};

/* Pure.  Looks for inline data in a whole raw inode of size bytes.  *ret points into inode.  false:
 * the inode does not hold the bytes, or its attributes are malformed. */
bool ext4_inline_find(const uint8_t *inode, size_t size, struct ext4_inline *ret);

/* Looks a name up by the index of directory dir: 0 and *ret, or -ENOENT.  Any other error: the
 * index cannot answer (the directory has none, or the index is damaged), and the caller must scan
 * the directory. */
int ext4_index_lookup(struct ext4_view *v, ext2_ino_t dir, const char *name, size_t length,
		      ext2_ino_t *ret);

/* As map() in struct fs_ops. */
int ext4_map(struct ext4_view *v, ext2_ino_t inode, struct fs_file *ret);
/* Fills the extents or the content of ret, whose size is set, whatever the inode is. */
int ext4_map_inode(struct ext4_view *v, ext2_ino_t number, struct ext2_inode *inode,
		   struct fs_file *ret);
/* As readlink() in struct fs_ops. */
int ext4_readlink(struct ext4_view *v, ext2_ino_t inode, char buf[FS_MAX_LINK]);
/* The negative errno for an error of libext2fs; 0 for 0. */
int ext4_errno(errcode_t error);

#endif
