/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs.h - files of a file system on a guest's disk, by path, as ranges of its volume.
 *
 * struct fs is where a file system lies; it lives as long as the image is
 * served.  struct fs_view is its metadata as of one moment: opened for one
 * question, so that the answer is as fresh as the image, then closed.
 * struct fs_file is the answer: where a file's bytes are.
 *
 * The owner may have the file system mounted and write to it all the time.  So
 * an answer, also that there is no such file, is worth something only after
 * fs_view_confirm(): then all the view told is one committed state of the file
 * system.  And bytes read through an answer are what they are taken for only if
 * fs_basis_check(), begun after they were read, says that the answer still held.
 * docs/architecture.md tells why that is enough.
 *
 * Everything read from the image is written by a guest and may be made to
 * harm: all sizes, counts and depths are bounded here.
 *
 * Threads: a struct fs is shared by all; a view belongs to one thread.
 * Errors: -ENOENT no such file, -ENOTDIR, -ENODATA bytes not in written plain
 * extents, -EAGAIN its owner was changing it: ask again, -EBUSY in use in a way
 * that cannot be followed, -EIO image unreadable or file system damaged, -ENOMEM.
 */
#ifndef VREAD_FS_FS_H
#define VREAD_FS_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parser-protocol/file.h"
#include "parser-protocol/protocol.h"

#define FS_MAX_NAME 255U
struct fs;
struct fs_view;

/* What an answer rests on. */
struct fs_basis;

/* uuid: in lower-case text form; volume must outlive the fs.  -EOPNOTSUPP: no reader for type. */
int fs_new(struct volume *volume, const char *type, const char *uuid, struct fs **ret);
struct volume *fs_volume(struct fs *fs);
void fs_free(struct fs *fs); /* NULL is ignored */

/* As it is now; *ret_reason, if wanted, is a static text for the last two. */
enum fs_state fs_state(struct fs *fs, const char **ret_reason);

/* *ret_reason, if wanted, is a static text on failure. */
int fs_view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason);
void fs_view_close(struct fs_view *v); /* NULL is ignored */

/*
 * Bytes of the volume that were looked at, in this order, to tell that nothing happened.  While
 * they are the same, read in this order and, if the basis is clean, with volume_changes() the
 * same before, whatever rests on the basis still holds.
 */
struct fs_watch_piece {
	uint64_t offset;
	uint32_t length;
	uint8_t bytes[FS_SUPER_BYTES];
};
struct fs_watch {
	unsigned count; /* 0: nothing so simple can tell */
	struct fs_watch_piece piece[FS_MAX_WATCHED];
};

/*
 * Whether all that v has told, files and errors, was true at one moment not before v was
 * opened: 0 and, if wanted, what that rests on and what was looked at to tell.  -EAGAIN: close v
 * and ask again.
 */
int fs_view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
#define FS_ATTEMPTS 16 /* at asking */
/* Whether v was opened when nobody could write. */
bool fs_view_is_clean(const struct fs_view *v);

/* Whether what rests on b is true now, and was ever since: 0 and *ret_watch, if wanted; -EAGAIN,
 * -EIO. */
int fs_basis_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
/* Nobody could write: content does not change either while b holds. */
bool fs_basis_is_clean(const struct fs_basis *b);
/* As bytes to keep for a while, its length; and back: NULL if they are none, or out of memory. */
size_t fs_basis_pack(const struct fs_basis *b, const void **ret);
struct fs_basis *fs_basis_unpack(const void *packed, size_t length);
void fs_basis_free(struct fs_basis *b); /* NULL is ignored */

uint64_t fs_view_root(struct fs_view *v);
/* One inode number for a path of names separated by '/', from directory dir.
 * Symbolic links are not followed. */
int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret_inode);

/* Calls cb for each entry but "." and "..", and but those whose name is empty or has a '/'; cb
 * returns 0 to go on, else the listing ends with its value. */
typedef int fs_list_cb(void *ctx, const char *name, uint64_t inode);
int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);

/* Fills *ret, to be released with fs_file_clear(). */
int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret);

/* Bytes [offset, offset + length) of f: 0, -ENODATA beyond f->mapped, -EIO. */
int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length);

/* The range of f outside of which all bytes are where f says; those within may still be in a
 * journal of data.  Empty: *ret_end is 0.  To be asked after fs_view_confirm() or
 * fs_basis_check(). */
void fs_file_unsettled(struct fs *fs, const struct fs_file *f, uint64_t *ret_start,
		       uint64_t *ret_end);
/* Whether bytes [0, length) of f are all outside of it. */
bool fs_file_head_settled(struct fs *fs, const struct fs_file *f, uint64_t length);

#endif
