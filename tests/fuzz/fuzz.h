/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - shared by the fuzz targets.
 *
 * A target is a program with LLVMFuzzerTestOneInput().  libFuzzer calls this function with inputs
 * that it makes up.  Sanitizers watch memory and arithmetic.  The target itself checks with check()
 * what must hold for every answer.
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

/* Aborts if a promise to callers does not hold.  libFuzzer then reports the input. */
#define check(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* An input, read from its beginning.  After its end it reads as zeros. */
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

/* Returns a copy with a zero at its end; free() it.  Sanitizers see reads past the copy's end. */
char *text_of(const uint8_t *data, size_t size);
/* The same without the zero. */
uint8_t *bytes_of(const uint8_t *data, size_t size);

#endif
