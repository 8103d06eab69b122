/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readahead.h - how far to read ahead of a reader, from how it has read so far.
 *
 * A read that starts where the last one ended doubles the window up to a limit; any
 * other closes it.  A file starts out as if a read had just ended at 0.
 */
#ifndef LIBVREAD_READAHEAD_H
#define LIBVREAD_READAHEAD_H

#include <stddef.h>
#include <stdint.h>

struct readahead {
	uint64_t next;  /* where a sequential read would start */
	size_t window;  /* bytes to keep in flight or ready behind the read */
	size_t maximum; /* 0: never */
};

void readahead_init(struct readahead *ra, size_t maximum);

/* Notes a read of [offset, offset + length); sets the window for it. */
void readahead_note(struct readahead *ra, uint64_t offset, size_t length);

/* How long the next chunk at `offset` should be when bytes up to `until` are
 * to be fetched: at most `largest`, ending at a multiple of it, so that
 * chunks never split a checksum chunk of the block. */
size_t readahead_chunk(uint64_t offset, uint64_t until, size_t largest);

#endif
