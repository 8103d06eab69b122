/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_queue.h - several reads at a time from sources read with O_DIRECT.  read/ahead_direct.c
 * reads ahead with a queue; read/store.c reports whether queues work.
 *
 * O_DIRECT has no page cache that could read ahead, so a disk is busy only if several requests are
 * at the disk at a time.  A queue makes them with io_uring.  If the kernel or a limit refuses
 * io_uring, there is no queue, and reads are made one by one (source_read()).
 *
 * Threads: one at a time for each queue.  But others may add and start reads while one thread is in
 * source_queue_await().
 */
#ifndef VREAD_DISK_SOURCE_QUEUE_H
#define VREAD_DISK_SOURCE_QUEUE_H

#include "disk/source.h"

#define SOURCE_QUEUE_ALIGN 4096U /* bytes; enough for every disk with sectors up to this size */

struct source_queue;

/* False if the last attempt to make a queue failed.  Then *ret_why is the reason (static string);
 * ret_why may be NULL. */
bool source_queue_works(const char **ret_why);

/* Makes a queue for up to depth reads at a time.  Returns NULL if there can be none; the first
 * failure of io_uring is logged. */
struct source_queue *source_queue_new(unsigned depth);
/* Bytes of memory of a queue, the kernel's included. */
size_t source_queue_weight(unsigned depth);
/* Waits for all reads under way, then frees q; NULL is ignored. */
void source_queue_free(struct source_queue *q);

/* Adds a read.  offset, length and buf must be multiples of SOURCE_QUEUE_ALIGN; tag is not NULL.
 * Returns 0; -EINVAL: not aligned, or s cannot be read by a queue; -EIO: outside the source;
 * -EAGAIN: depth reads are under way. */
int source_queue_add(struct source_queue *q, struct source *s, uint64_t offset, void *buf,
		     size_t length, void *tag);
/* Sends the reads that were added to the disk.  Returns 0, or negative errno: the next call tries
 * again. */
int source_queue_start(struct source_queue *q);
/* The tag of a read that has ended, with *ret_error 0 or -EIO (also for a short read).  NULL: none
 * has ended.  Does not wait. */
void *source_queue_ended(struct source_queue *q, int *ret_error);
/* Waits until a read has ended that source_queue_ended() has not told.  One must be under way, and
 * started. */
void source_queue_await(struct source_queue *q);

#endif
