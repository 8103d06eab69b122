/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log_sums.h - a journal's checksums, made right after its bytes were changed.
 *
 * Without that nearly every input would end at the first checksum.
 */
#ifndef VREAD_FUZZ_LOG_SUMS_H
#define VREAD_FUZZ_LOG_SUMS_H

#include "fuzz.h"

struct log_bytes {
	uint32_t block_size, num_blocks;
	void *ctx;
	/* Block n of the log, to be written. */
	uint8_t *(*block)(void *ctx, uint32_t n);
	/* Makes the checksums inside a copy of that block of the file system right; may be NULL. */
	void (*fix_copy)(void *ctx, uint64_t block, uint8_t *bytes);
};

void log_fix_sums(const struct log_bytes *log);

#endif
