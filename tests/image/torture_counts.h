/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_counts.h - what a torture's readers found: verdicts on bytes, and errors by the call
 * that had them.
 *
 * Any thread may count; printing is for when they have ended.
 */
#ifndef VREAD_TORTURE_COUNTS_H
#define VREAD_TORTURE_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "torture_content.h"

#define TORTURE_ERRORS 140 /* above all errno */

struct torture_counts {
	_Atomic(uint64_t) verdicts[3]; /* by enum torture_verdict */
	_Atomic(uint64_t) opens;
	_Atomic(uint64_t) open_errors[TORTURE_ERRORS], read_errors[TORTURE_ERRORS];
};

/* error: 0, or -errno. */
void torture_count_open(struct torture_counts *c, int error);
/* Judges what one read at offset gave: n bytes in data, or -errno. */
void torture_count_read(struct torture_counts *c, uint32_t id, unsigned version, uint64_t offset,
			const uint8_t *data, ssize_t n);
/* A JSON object on standard output, one line; more: members that come first, each with a
 * comma behind it, or "".  Returns whether nothing was wrong. */
bool torture_counts_print(struct torture_counts *c, const char *more);

#endif
