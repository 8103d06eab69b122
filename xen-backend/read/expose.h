/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expose.h - copies verified bytes to where a guest sees them.
 *
 * The reader's CPU has just used the pages written to.  If it shares a cache
 * with ours, a plain copy is best: the reader finds the bytes in that cache.  If not,
 * every line must first be fetched back from the other cache, which makes a plain
 * copy several times as slow, and stores that bypass caches are better.  Which it
 * is depends on where the hypervisor runs the two just now.  So each thread
 * tries both ways now and then, and uses the one that costs less.
 */
#ifndef VREAD_READ_EXPOSE_H
#define VREAD_READ_EXPOSE_H

#include <stdbool.h>
#include <stddef.h>

void expose(void *dst, const void *src, size_t length);

/* ---- for tests ------------------------------------------------------------- */

/* What the two ways cost lately, in ns per EXPOSE_UNIT; 0: not tried yet. */
struct expose_pace {
	unsigned plain, streamed;
	unsigned turn;
};

#define EXPOSE_UNIT (8U << 10) /* smaller copies are always plain */

/* The way of the next copy. */
bool expose_streams(struct expose_pace *pace);
void expose_note(struct expose_pace *pace, bool streamed, unsigned ns_per_unit);
void expose_streaming(void *dst, const void *src, size_t length);

#endif
