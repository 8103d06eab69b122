// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies of inputs, declared in fuzz.h. */
#include <string.h>

#include "fuzz.h"

char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

uint8_t *bytes_of(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	check(bytes);
	if (size)
		memcpy(bytes, data, size);
	return bytes;
}
