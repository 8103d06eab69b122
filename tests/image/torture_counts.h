/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_counts.h - counts of a torture's readers: verdicts on bytes, and errors by call.
 * torture.c and tests/xen/torture_reader.c count and print.
 *
 * Threads: any thread may count. Print only when the readers have ended.
 */
#ifndef VREAD_TORTURE_COUNTS_H
#define VREAD_TORTURE_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "torture_content.h"

#define TORTURE_ERRORS 140 /* greater than every errno */

struct torture_counts {
	_Atomic(uint64_t) verdicts[3]; /* by enum torture_verdict */
	_Atomic(uint64_t) opens;
	_Atomic(uint64_t) open_errors[TORTURE_ERRORS], read_errors[TORTURE_ERRORS];
};

/* error: 0, or -errno. */
void torture_count_open(struct torture_counts *c, int error);
/* Judges and counts the result of a read at offset: n bytes in data, or n is -errno. */
void torture_count_read(struct torture_counts *c, uint32_t id, unsigned version, uint64_t offset,
			const uint8_t *data, ssize_t n);
/* Prints the counts as a line of JSON. more: members to print first, each with a comma after it, or
 * "". True if no byte was wrong. */
bool torture_counts_print(struct torture_counts *c, const char *more);

#endif
