/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state_file.h - small files in which vreadd remembers something beyond its end. policy/ and
 * datanode/ call these functions; they check what a file says.
 *
 * Threads: any, but one writer of a file at a time.
 */
#ifndef VREAD_STATE_FILE_H
#define VREAD_STATE_FILE_H

#include <stddef.h>

/*
 * Reads a whole regular file of at most `max` bytes. *ret is a text of *ret_length bytes and a 0
 * (free() it). 0, -ENOENT, -EINVAL: not a regular file, -ELOOP: a symbolic link, -EFBIG, or another
 * negative errno; then *ret is unchanged.
 */
int state_file_read(const char *path, size_t max, char **ret, size_t *ret_length);
/*
 * Replaces the file by one with that text, which only its owner can read. A reader sees the old
 * file or the new one. The new one is on the disk when this returns 0. On a failure (negative
 * errno) the old file is still there.
 */
int state_file_replace(const char *path, const char *text);
/* Removes the file; the removal is on the disk when this returns 0. No such file: 0. */
int state_file_remove(const char *path);

#endif
