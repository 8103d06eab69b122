/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory_group.h - how much memory the control group of this process still lets it have: the limit
 * is MemoryMax= of the systemd unit. A process that takes more is killed by the kernel, so it asks
 * before it takes much at once.
 *
 * Threads: any.
 */
#ifndef VREAD_BASE_MEMORY_GROUP_H
#define VREAD_BASE_MEMORY_GROUP_H

#include <stdint.h>

/*
 * Returns the bytes that the control group (version 2), and each above it, leaves below its limit.
 * Negative: more is used than there should be. Without a limit the number is larger than any
 * memory. The page cache of files counts as free, because the kernel drops it first.
 *
 * kept: 1/kept of each limit is kept free; 0: nothing. root: where /proc and /sys are; "" but for
 * tests.
 */
int64_t memory_group_spare(const char *root, unsigned kept);

#endif
