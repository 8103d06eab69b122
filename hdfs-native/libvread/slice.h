/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - allocates the pages of a connection's slice.  engine.c calls it.
 *
 * First fit over a bitmap of 4 KiB pages.  A read holds its pages for microseconds, so the same
 * low pages are used again and again and stay in the processor's cache.
 *
 * Threads: the engine's lock protects a slice.
 */
#ifndef LIBVREAD_SLICE_H
#define LIBVREAD_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct slice {
	uint32_t pages;
	uint32_t free_pages;
	uint64_t used[VREAD_MAX_POOL_PAGES / 64];
};

void slice_init(struct slice *s, uint32_t pages);

/* Takes `pages` pages in a row.  0 and the first page, -EAGAIN: no such run is free now, -EINVAL:
 * pages is 0 or more than the slice has. */
int slice_take(struct slice *s, uint32_t pages, uint32_t *ret_first);
void slice_give(struct slice *s, uint32_t first, uint32_t pages);

static inline uint32_t slice_pages(size_t bytes)
{
	return (uint32_t)((bytes + VREAD_PAGE_SIZE - 1) / VREAD_PAGE_SIZE);
}

#endif
