/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whole_file.h - writes and reads a small file at once; for unit tests.
 *
 * Include it after cmocka.h. The test fails if the file cannot be opened, read or written.
 */
#ifndef VREAD_TEST_WHOLE_FILE_H
#define VREAD_TEST_WHOLE_FILE_H

#include <stdio.h>

/* The file has these bytes and no others from now on. Makes the file if there is none. */
static inline void whole_file_write(const char *path, const void *bytes, size_t length)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

/* Stores the file in `ret`, with a '\0' behind it; at most the first `size - 1` bytes. */
static inline void whole_file_read(const char *path, char *ret, size_t size)
{
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	ret[fread(ret, 1, size - 1, f)] = '\0';
	assert_false(ferror(f));
	fclose(f);
}

#endif
