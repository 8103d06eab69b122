/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - one file or block device of this host, read-only.  The image formats of disk/ read the
 * files of an image through it, and read/ahead.c has them read ahead.
 *
 * A regular file is read through the page cache, which the writer of the file shares.  A block
 * device is read with O_DIRECT: the writes of a guest reach the device by bio and leave dom0's page
 * cache stale.  So is a file of a network file system, unless its writer is known: the writer may
 * be on another host, and some pages here would be older than others.
 *
 * Reads are checked against the size.  A read is complete or fails.  Threads: any may read.
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
	SOURCE_AUTO, /* direct for block devices and files of a network, else buffered */
	SOURCE_BUFFERED,
	SOURCE_DIRECT,
};

/* Tells which file a source is and, for a regular file, when it was last written. */
struct source_identity {
	dev_t dev;
	ino_t ino;
	uint64_t size;
	struct timespec mtime, ctime; /* zero for a block device */
};

/* Opens path.  Returns 0, or negative errno with *ret_error (free() it) saying what is wrong with
 * path. */
int source_open(const char *path, enum source_mode mode, struct source **ret, char **ret_error);
void source_close(struct source *s); /* NULL is ignored */

/*
 * For a process that may not open files (vread-parser): the next source_open() of path takes over
 * fd instead of opening path.  fd must already be open the way the mode requires.  Returns 0,
 * -ENOMEM, or -ENOSPC if SOURCE_MAX_GIVEN descriptors wait.  Threads: the list of given
 * descriptors has no lock, so a process that gives descriptors calls source_give() and
 * source_open() from one thread at a time.
 */
#define SOURCE_MAX_GIVEN 1024U
int source_give(const char *path, int fd);

int source_fd(const struct source *s);
const char *source_path(const struct source *s);
uint64_t source_size(const struct source *s);
/* Asks for the current size.  If the source has grown, the new bytes can be read from then on. */
uint64_t source_size_now(struct source *s);
bool source_is_direct(const struct source *s);

/* Reads exactly length bytes at offset.  Returns 0, -EIO (also outside the source) or -ENOMEM. */
int source_read(struct source *s, uint64_t offset, void *buf, size_t length);

/* ---- read-ahead --------------------------------------------------------------- */

/* Returns the device number of the disk of this host that the source is, or lies on. */
dev_t source_disk(const struct source *s);
/* Returns how many reads of this thread had to wait for a disk because bytes were not in the page
 * cache.  A read counts as no wait if the file system cannot tell what is in the page cache. */
uint64_t source_waits(void);
/* Returns how many bytes the kernel itself reads ahead of a sequential reader; 0: none, or
 * unknown. */
uint64_t source_kernel_ahead(const struct source *s);
/* Has the kernel read [offset, offset + length) into the page cache, and does not wait.  Does
 * nothing for a source read with O_DIRECT.  Returns whether there was anything to read. */
bool source_fetch(struct source *s, uint64_t offset, uint64_t length);

/* Fills *ret with the identity of the file as it is now.  Returns 0 or negative errno. */
int source_identity(struct source *s, struct source_identity *ret);

#endif
