/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_queue.h - reads that are under way from sources read with O_DIRECT.
 *
 * There is no page cache that would fetch ahead: several requests have to be at the disk at a
 * time for it to be busy.  They are io_uring's.  Where the kernel or a limit
 * refuses that, there is no queue, and reads are made one by one (source_read()).
 *
 * Threads: one at a time for each queue.
 */
#ifndef VREAD_DISK_SOURCE_QUEUE_H
#define VREAD_DISK_SOURCE_QUEUE_H

#include "disk/source.h"

#define SOURCE_QUEUE_ALIGN 4096U /* good for every disk with sectors up to that */

struct source_queue;

/* Whether queues can be had here, as far as was tried; if not, *ret_why, if wanted, is a static
 * text. */
bool source_queue_works(const char **ret_why);

/* For up to depth reads at a time.  NULL: there is none to be had; the first time that is
 * logged. */
struct source_queue *source_queue_new(unsigned depth);
/* Waits for all that is under way; NULL is ignored. */
void source_queue_free(struct source_queue *q);

/* Adds a read; offset, length and memory are aligned.  0, -EINVAL: they are not, or s cannot be
 * read so, -EIO: outside the source, -EAGAIN: depth reads are under way. */
int source_queue_add(struct source_queue *q, struct source *s, uint64_t offset, void *buf,
		     size_t length, void *tag);
/* Sends what was added to the disk: 0, or negative errno: then it is tried again when waiting. */
int source_queue_start(struct source_queue *q);
/* The next that ends: its tag, and 0 or -EIO (also if it came short); or NULL: none is under way. */
void *source_queue_wait(struct source_queue *q, int *ret_error);

#endif
