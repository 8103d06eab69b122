/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - the bytes of one disk image, read-only.
 *
 * A regular file is read through the page cache, which its writer shares.  A
 * block device is read with O_DIRECT: a guest's writes reach it by bio and
 * leave dom0's page cache stale.  Reads are bounds-checked and complete or
 * fail; any thread may read.
 */
#ifndef VREAD_DISK_SOURCE_H
#define VREAD_DISK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct source;

enum source_mode {
	SOURCE_AUTO, /* direct for a block device, buffered for a file */
	SOURCE_BUFFERED,
	SOURCE_DIRECT,
};

/* Which file this is and, for a regular file, when it was last written. */
struct source_identity {
	dev_t dev;
	ino_t ino;
	uint64_t size;
	struct timespec mtime, ctime; /* zero for a block device */
};

/* 0, or negative errno with *ret_error (free() it) saying what is wrong with path. */
int source_open(const char *path, enum source_mode mode, struct source **ret, char **ret_error);
void source_close(struct source *s); /* NULL is ignored */

/*
 * For a process that may not open files: source_open() of path takes fd, which is open
 * already, and as the mode wants it.  At most SOURCE_MAX_GIVEN: -ENOSPC.
 */
#define SOURCE_MAX_GIVEN 1024U
int source_give(const char *path, int fd);

int source_fd(const struct source *s);
const char *source_path(const struct source *s);
uint64_t source_size(const struct source *s);
/* As it is now; what it grew by can be read from then on. */
uint64_t source_size_now(struct source *s);
bool source_is_direct(const struct source *s);

/* Exactly length bytes at offset: 0, or -EIO (also outside the image), -ENOMEM. */
int source_read(struct source *s, uint64_t offset, void *buf, size_t length);

/* ---- read-ahead --------------------------------------------------------------- */

/* The disk of this host it is on, or is: a device number. */
dev_t source_disk(const struct source *s);
/* How often this thread has had to wait for a disk, for want of bytes in the page cache.  What a
 * file system cannot tell counts as no wait. */
uint64_t source_waits(void);
/* How far the kernel reads ahead by itself of whoever goes forward in it: bytes; 0: not at all, or
 * it cannot be told. */
uint64_t source_kernel_ahead(const struct source *s);
/* Has [offset, offset + length) brought into the page cache, without waiting for it; nothing if it
 * is read with O_DIRECT.  Whether there was anything to bring. */
bool source_fetch(struct source *s, uint64_t offset, uint64_t length);

/* Of the file as it is now. */
int source_identity(struct source *s, struct source_identity *ret);

#endif
