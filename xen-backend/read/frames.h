/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames.h - memory for a cache, in frames of 64 KiB that go back to the kernel. verified_cache.c
 * keeps the bytes of each unit in a frame.
 *
 * malloc() keeps freed memory among memory in use. A mapping for each unit could exceed the limit
 * of mappings of the process (vm.max_map_count). So frames lie in large mappings, and the pages of
 * a freed frame are given back by madvise(2). Address space is kept until frames_free(). A few
 * freed frames keep their pages for the next frames_get().
 *
 * Threads: any.
 */
#ifndef VREAD_READ_FRAMES_H
#define VREAD_READ_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_BYTES (64U << 10)
#define FRAMES_SPARE 16U /* most freed frames that keep their pages */

struct frame {
	uint8_t *memory;
	/* private to frames.c */
	size_t resident; /* bytes that may have pages */
	struct frame *next;
};

struct frames;

struct frames *frames_new(void); /* NULL: out of memory */
/* All frames must have been put. NULL is ignored. */
void frames_free(struct frames *f);

/* A frame whose first `bytes` bytes may be used, at most FRAME_BYTES. NULL: out of memory. */
struct frame *frames_get(struct frames *f, size_t bytes);
void frames_put(struct frames *f, struct frame *frame);
/* Bytes of memory that a frame with `bytes` bytes in use takes: whole pages. */
size_t frames_weight(size_t bytes);

#endif
