/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h - disk images in memory: loaded once, changed by an input, put back.
 */
#ifndef VREAD_FUZZ_MEMORY_H
#define VREAD_FUZZ_MEMORY_H

#include "disk/image.h"
#include "fuzz.h"

struct memory_range {
	size_t offset, length;
};

struct memory {
	uint8_t *bytes; /* what the image shows; to be written after memory_touch() only */
	uint8_t *pristine;
	size_t size;
	int fd;
	char path[32];
	struct image *image;
	struct memory_range *touched;
	size_t num_touched;
};

/* The file build/fuzz/bases/NAME, or in the folder that FUZZ_BASES names; free() it. */
char *memory_base_path(const char *name);

/* An image of size zeros. */
void memory_new(struct memory *m, size_t size);
/* An image with the content of a base. */
void memory_load(struct memory *m, const char *name);
/* Where length bytes at offset may be changed; NULL if they are outside. */
uint8_t *memory_touch(struct memory *m, uint64_t offset, size_t length);
/* All that was touched is as it was in the beginning. */
void memory_restore(struct memory *m);
/* The file's times tell that it was written. */
void memory_written(struct memory *m);

#endif
