/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log_sums.h - corrects the checksums of a journal after a change of its bytes.  base.c and
 * fuzz_journal.c call it.
 *
 * Without correct checksums, nearly every input would end at the first checksum.
 */
#ifndef VREAD_FUZZ_LOG_SUMS_H
#define VREAD_FUZZ_LOG_SUMS_H

#include "fuzz.h"

struct log_bytes {
	uint32_t block_size, num_blocks;
	void *ctx;
	/* Returns block n of the log; the caller may write it. */
	uint8_t *(*block)(void *ctx, uint32_t n);
	/* Corrects the checksums inside a copy of that block of the file system.  May be NULL. */
	void (*fix_copy)(void *ctx, uint64_t block, uint8_t *bytes);
};

void log_fix_sums(const struct log_bytes *log);

#endif
