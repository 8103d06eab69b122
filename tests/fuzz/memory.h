/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h - disk images in memory: loaded once, changed by each input, then restored.
 * fuzz_answer.c, fuzz_journal.c and fuzz_xfs.c call it.
 */
#ifndef VREAD_FUZZ_MEMORY_H
#define VREAD_FUZZ_MEMORY_H

#include "disk/image.h"
#include "fuzz.h"

struct memory_range {
	size_t offset, length;
};

struct memory {
	uint8_t *bytes; /* the image's content; write only after memory_touch() */
	uint8_t *pristine;
	size_t size;
	int fd;
	char path[32];
	struct image *image;
	struct memory_range *touched;
	size_t num_touched;
};

/* Returns the path of the base NAME in build/fuzz/bases, or in the folder FUZZ_BASES; free() it. */
char *memory_base_path(const char *name);

/* Makes an image of size bytes, all of them zero. */
void memory_new(struct memory *m, size_t size);
/* Makes an image with the content of a base. */
void memory_load(struct memory *m, const char *name);
/* Returns where length bytes at offset may be changed.  NULL: they are not inside the image. */
uint8_t *memory_touch(struct memory *m, uint64_t offset, size_t length);
/* Restores all touched bytes. */
void memory_restore(struct memory *m);
/* Changes the file's times, as a write does. */
void memory_written(struct memory *m);

#endif
