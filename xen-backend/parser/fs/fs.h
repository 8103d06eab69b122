/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs.h - finds files of a guest's file system by path, as ranges of its volume.  vread-parser
 * (parser/serve.c, parser/hdfs/) and vread-provision (provision/inspect.c) call it.
 *
 * struct fs is a file system in a volume.  A struct fs lives as long as the image is served.
 * struct fs_view is the metadata of a file system as of one moment.  A caller opens a view for
 * one question, so that the answer is as fresh as the image, and then closes the view.
 * struct fs_file is the answer: where a file's bytes lie in the volume.
 *
 * The owner may have the file system mounted and may write to the image all the time.  An answer,
 * "no such file" included, is valid only after fs_view_confirm() returned 0.  Then everything the
 * view told is one committed state of the file system.  Bytes read through an answer are valid
 * only if fs_basis_check(), called after the bytes were read, returns 0.  docs/live-filesystems.md
 * explains why these two checks are enough.
 *
 * A guest wrote everything that is read from the image, and the guest may be hostile.  The code
 * behind this header bounds all sizes, counts and depths.
 *
 * Threads: all threads may share a struct fs; a view belongs to one thread.
 * Errors: -ENOENT no such file; -ENOTDIR; -ENODATA the bytes are not in the volume as they are;
 * -EAGAIN the owner was changing the file system: ask again; -EBUSY the file system is in use in
 * a way that cannot be followed; -EIO image unreadable or file system damaged; -ENOMEM.
 */
#ifndef VREAD_FS_FS_H
#define VREAD_FS_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parser-protocol/file.h"
#include "parser-protocol/protocol.h"

#define FS_MAX_NAME 255U
#define FS_MAX_LINK 4096U /* bytes of a path or of a link's target, with its NUL */
struct fs;
struct fs_view;

/* What an answer rests on: the metadata that was read for the answer, and the state of the journal
 * (or of the clean file system) at that time.  fs_basis_check() compares both with the image. */
struct fs_basis;

/* uuid: in lower-case text form.  volume must outlive the struct fs.  Free *ret with fs_free().
 * -EOPNOTSUPP: no reader for this type of file system. */
int fs_new(struct volume *volume, const char *type, const char *uuid, struct fs **ret);
/* The bytes that a file system has by its superblock, which may be longer than the volume and is
 * otherwise not checked.  0: the volume has no superblock of that type. */
uint64_t fs_bytes(struct volume *volume, const char *type);
struct volume *fs_volume(struct fs *fs);
void fs_free(struct fs *fs); /* NULL is ignored */

/* The state as of now.  ret_reason may be NULL; for FS_REFUSED and FS_UNREADABLE *ret_reason is a
 * static text. */
enum fs_state fs_state(struct fs *fs, const char **ret_reason);

/* ret_reason may be NULL; on failure *ret_reason is a static text.  Close *ret with
 * fs_view_close(). */
int fs_view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason);
void fs_view_close(struct fs_view *v); /* NULL is ignored */

/*
 * Pieces of the volume that were read, in this order, to find out that nothing more was committed.
 * As long as a reader that reads the pieces in this order finds the same bytes, every answer that
 * rests on the basis still holds.  If the basis is clean, the reader must also call
 * volume_changes() before reading the pieces, and the value must not have changed.
 */
struct fs_watch_piece {
	uint64_t offset;
	uint32_t length;
	uint8_t bytes[FS_SUPER_BYTES];
};
struct fs_watch {
	unsigned count; /* 0: only fs_basis_check() can tell */
	struct fs_watch_piece piece[FS_MAX_WATCHED];
};

/*
 * Checks that everything v told, files and errors, was true at one moment, which is not before v
 * was opened.  Returns 0 and sets *ret to the basis (free it with fs_basis_free()) and *ret_watch
 * to the pieces that were read for the check; both pointers may be NULL.  -EAGAIN: close v and
 * ask again.
 */
int fs_view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch);
#define FS_ATTEMPTS 16 /* how often a question is asked while the answer is -EAGAIN */
/* True if nobody could write to the file system when v was opened. */
bool fs_view_is_clean(const struct fs_view *v);

/* Checks that every answer that rests on b is true now and was true ever since b was made.
 * Returns 0 and sets *ret_watch, which may be NULL; -EAGAIN, -EIO. */
int fs_basis_check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch);
/* True if nobody could write to the file system.  Then the content of files does not change
 * either, as long as b holds. */
bool fs_basis_is_clean(const struct fs_basis *b);
/* fs_basis_pack() sets *ret to the bytes of b, which b keeps, and returns their length.  A caller
 * may store a copy of the bytes.  fs_basis_unpack() makes a basis from the copy; free that basis
 * with fs_basis_free().  NULL: the bytes are not a basis, or out of memory. */
size_t fs_basis_pack(const struct fs_basis *b, const void **ret);
struct fs_basis *fs_basis_unpack(const void *packed, size_t length);
void fs_basis_free(struct fs_basis *b); /* NULL is ignored */

/* The inode number of the root directory. */
uint64_t fs_view_root(struct fs_view *v);
/* Sets *ret_inode to the inode number of path.  path is relative to directory dir; '/' separates
 * its names.  Symbolic links are not followed. */
int fs_view_lookup(struct fs_view *v, uint64_t dir, const char *path, uint64_t *ret_inode);

struct fs_resolved {
	uint64_t inode;
	char path[FS_MAX_LINK];   /* the same place without links, "" for the root */
	char link[FS_MAX_LINK];   /* the last symbolic link that was followed; "": none was */
	char target[FS_MAX_LINK]; /* what that link says */
};

/* As fs_view_lookup() from the root directory, but follows symbolic links, as the kernel would if
 * the file system were mounted on "/".  -ELOOP: too many links or names.  On errors, too,
 * ret->link says which link was followed last. */
int fs_view_resolve(struct fs_view *v, const char *path, struct fs_resolved *ret);

/* Calls cb for each entry of dir, except "." and "..", and except entries with an empty name or a
 * '/' in the name.  cb returns 0 to go on.  Any other value ends the listing, and fs_view_list()
 * returns that value. */
typedef int fs_list_cb(void *ctx, const char *name, uint64_t inode);
int fs_view_list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx);

/* Sets *ret to where the bytes of a file lie.  Release *ret with fs_file_clear().
 * Unwritten extents are holes of *ret, as holes are. */
int fs_view_map(struct fs_view *v, uint64_t inode, struct fs_file *ret);

/* Reads bytes [offset, offset + length) of f: 0, -ENODATA beyond f->size, -EIO. */
int fs_file_read(struct fs *fs, const struct fs_file *f, uint64_t offset, void *buf, size_t length);

/* Sets [*ret_start, *ret_end) to the range of f whose bytes may still be in the journal (if the
 * journal holds data) instead of where f says.  All bytes outside the range are where f says.  If
 * the range is empty, *ret_end is 0.  Call this after fs_view_confirm() or fs_basis_check(). */
void fs_file_unsettled(struct fs *fs, const struct fs_file *f, uint64_t *ret_start,
		       uint64_t *ret_end);
/* True if bytes [0, length) of f are all outside the range of fs_file_unsettled(). */
bool fs_file_head_settled(struct fs *fs, const struct fs_file *f, uint64_t length);

#endif
