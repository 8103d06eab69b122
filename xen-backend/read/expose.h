/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expose.h - copies verified bytes to memory that a guest sees. read.c and verified_cache.c call
 * expose().
 *
 * The guest's CPU that reads the bytes has just used the pages written to. If that CPU shares a
 * cache with ours, a plain copy is best: the guest finds the bytes in the shared cache. If not, a
 * plain copy must first fetch every line back from the other cache and is several times slower.
 * Stores that bypass caches (streaming stores) are then better. Which copy is better depends on
 * where the hypervisor runs the two CPUs at the moment. So each thread tries both copies now and
 * then, and uses the cheaper one.
 */
#ifndef VREAD_READ_EXPOSE_H
#define VREAD_READ_EXPOSE_H

#include <stdbool.h>
#include <stddef.h>

void expose(void *dst, const void *src, size_t length);

/* ---- for tests ------------------------------------------------------------- */

/* The recent cost of both copies, in ns per EXPOSE_UNIT. 0: not tried yet. */
struct expose_pace {
	unsigned plain, streamed;
	unsigned turn;
};

#define EXPOSE_UNIT (8U << 10) /* smaller copies are always plain */

/* True if the next copy is to use streaming stores. */
bool expose_streams(struct expose_pace *pace);
void expose_note(struct expose_pace *pace, bool streamed, unsigned ns_per_unit);
void expose_streaming(void *dst, const void *src, size_t length);

#endif
