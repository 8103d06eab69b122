/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readahead.h - decides how far to read ahead of a reader.  sequential.c calls it; read.c cuts its
 * pieces with readahead_chunk().
 *
 * A read that starts where the last read ended doubles the window, up to a maximum.  Any other
 * read sets the window to 0.  A new file counts as if a read had just ended at offset 0.
 */
#ifndef LIBVREAD_READAHEAD_H
#define LIBVREAD_READAHEAD_H

#include <stddef.h>
#include <stdint.h>

struct readahead {
	uint64_t next;  /* where a sequential read would start */
	size_t window;  /* bytes behind the read to keep in flight or ready */
	size_t maximum; /* of window; 0: no read-ahead */
};

void readahead_init(struct readahead *ra, size_t maximum);

/* Notes a read of [offset, offset + length), and sets the window for this read. */
void readahead_note(struct readahead *ra, uint64_t offset, size_t length);

/* Length of the next chunk at `offset` if bytes up to `until` are wanted: at most `largest`.  The
 * chunk ends at `until` or at a multiple of `largest`, so that chunks in between never split a
 * checksum chunk of the block. */
size_t readahead_chunk(uint64_t offset, uint64_t until, size_t largest);

#endif
