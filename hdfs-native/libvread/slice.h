/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - which pages of a connection's pool slice are in use.
 *
 * First fit over a bitmap of 4 KiB pages: reads come and go in the order of
 * microseconds, so the same low pages are used again and again and stay in the
 * processor's cache.  Not thread-safe; the engine's lock covers it.
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

/* Takes a run of pages: 0 and its first page, -EINVAL if it can never fit, -EAGAIN if not now. */
int slice_take(struct slice *s, uint32_t pages, uint32_t *ret_first);
void slice_give(struct slice *s, uint32_t first, uint32_t pages);

static inline uint32_t slice_pages(size_t bytes)
{
	return (uint32_t)((bytes + VREAD_PAGE_SIZE - 1) / VREAD_PAGE_SIZE);
}

#endif
