/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch.h - page-aligned buffers, one of each kind per thread.  disk/, read/ and parser/fs call
 * it.
 *
 * A read needs a buffer that the guest cannot see.  To allocate one per request would cost more
 * than the request, so a thread keeps its buffers until it ends.
 */
#ifndef VREAD_BASE_SCRATCH_H
#define VREAD_BASE_SCRATCH_H

#include <stddef.h>

enum scratch_kind {
	SCRATCH_BOUNCE,   /* disk/source.c: O_DIRECT reads that are not aligned */
	SCRATCH_DATA,     /* read/read.c: data not yet verified */
	SCRATCH_SUMS,     /* read/read.c: checksums of that data */
	SCRATCH_LOG,      /* parser/fs/journal_log.c: blocks of a journal */
	SCRATCH_PACKED,   /* disk/qcow2_unpack.c: a compressed cluster */
	SCRATCH_UNPACKED, /* disk/qcow2_unpack.c: the same cluster, unpacked */
	SCRATCH_KINDS,
};

/* Returns a buffer of at least size bytes, or NULL when out of memory.  The buffer is valid until
 * the next call for the same kind on the same thread. */
void *scratch_get(enum scratch_kind kind, size_t size);

#endif
