/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache_size.h - how large the verified cache may be now, for `cache = auto`. store.c calls it once
 * a second.
 *
 * The cache may take half of the memory that the host has available, and leaves the host a reserve.
 * If vreadd runs in a control group with a memory limit (MemoryMax= of its unit), or below one, the
 * cache also leaves a quarter of that limit to the rest of vreadd. So when the host or the rest of
 * vreadd needs memory, the cache shrinks before the kernel has to look for a process to kill.
 *
 * Pages of the page cache count as available, as in the kernel's own estimate.
 */
#ifndef VREAD_READ_CACHE_SIZE_H
#define VREAD_READ_CACHE_SIZE_H

#include <stddef.h>

#define CACHE_SIZE_LEAST (64U << 20)         /* the cache never gets smaller than this */
#define CACHE_SIZE_HOST_RESERVE (512U << 20) /* bytes that stay available to the host */

/*
 * Returns the size in bytes. used: bytes that the cache takes now. root: where /proc and /sys are;
 * "" but for tests. *ret_limited_by says what keeps the cache from being larger: "host", "service"
 * (the memory limit of the control group), "least" (nothing is left, and the cache has its least),
 * or "unknown" (the host's memory cannot be read, and the cache has its least).
 */
size_t cache_size_now(const char *root, size_t used, const char **ret_limited_by);

#endif
