/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.h - page-aligned buffers, one of each kind per thread.
 *
 * A read needs a place the guest cannot see.  Allocating one per request would
 * cost more than the request; a thread keeps its own until it ends.
 */
#ifndef VREAD_BASE_SCRATCH_H
#define VREAD_BASE_SCRATCH_H

#include <stddef.h>

enum scratch_kind {
	SCRATCH_BOUNCE,   /* source.c: O_DIRECT reads that are not aligned */
	SCRATCH_DATA,     /* read/read.c: data not yet verified */
	SCRATCH_SUMS,     /* read/read.c: checksums of that data */
	SCRATCH_LOG,      /* journal_log.c: blocks of a journal */
	SCRATCH_PACKED,   /* qcow2_unpack.c: a compressed cluster */
	SCRATCH_UNPACKED, /* the same one unpacked */
	SCRATCH_KINDS,
};

/* At least size bytes, NULL when out of memory.  Valid until the next call for
 * the same kind on the same thread. */
void *scratch_get(enum scratch_kind kind, size_t size);

#endif
