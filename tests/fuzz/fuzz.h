/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - what fuzz targets share.
 *
 * A target is a program with LLVMFuzzerTestOneInput(): libFuzzer calls it with
 * inputs it makes up, sanitizers watch memory and arithmetic, and the target
 * itself says with check() what must hold of every answer.
 */
#ifndef VREAD_FUZZ_H
#define VREAD_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer calls it once, before the first input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What is promised to callers: a finding if it does not hold. */
#define check(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* An input, taken from its beginning; past its end there are zeros. */
struct bytes {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t take8(struct bytes *b)
{
	if (b->left == 0)
		return 0;
	b->left--;
	return *b->at++;
}

static inline uint16_t take16(struct bytes *b)
{
	uint16_t low = take8(b);

	return (uint16_t)(low | take8(b) << 8);
}

static inline uint32_t take32(struct bytes *b)
{
	uint32_t low = take16(b);

	return low | (uint32_t)take16(b) << 16;
}

/* In memory of its own, free() it: sanitizers see reads past its end.  With a zero at the end: */
char *text_of(const uint8_t *data, size_t size);
/* Without: */
uint8_t *bytes_of(const uint8_t *data, size_t size);

#endif
