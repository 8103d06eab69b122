// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes and reads the numbers and texts of messages. Both ends of a channel call it; wire.h
 * describes the functions.
 */
#include "parser-protocol/wire.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct wire_out *out, size_t length)
{
	size_t capacity = out->capacity ? out->capacity : 4096;
	uint8_t *grown;

	if (length > WIRE_MAX_BYTES - out->length)
		return false;
	while (capacity < out->length + length)
		capacity *= 2;
	if (capacity == out->capacity)
		return true;
	grown = realloc(out->data, capacity);
	if (!grown)
		return false;
	out->data = grown;
	out->capacity = capacity;
	return true;
}

void wire_put(struct wire_out *out, const void *bytes, size_t length)
{
	if (out->failed || length == 0)
		return;
	if (!make_room(out, length)) {
		out->failed = true;
		return;
	}
	memcpy(out->data + out->length, bytes, length);
	out->length += length;
}

void wire_put32(struct wire_out *out, uint32_t value)
{
	wire_put(out, &value, sizeof(value));
}

void wire_put64(struct wire_out *out, uint64_t value)
{
	wire_put(out, &value, sizeof(value));
}

void wire_put_text(struct wire_out *out, const char *text)
{
	size_t length = text ? strlen(text) : 0;

	wire_put32(out, (uint32_t)length);
	wire_put(out, text, length);
}

const void *wire_get(struct wire_in *in, size_t length)
{
	const void *at = in->data;

	if (in->failed || length > in->left) {
		in->failed = true;
		return NULL;
	}
	in->data += length;
	in->left -= length;
	return at;
}

uint32_t wire_get32(struct wire_in *in)
{
	uint32_t value = 0;
	const void *at = wire_get(in, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

uint64_t wire_get64(struct wire_in *in)
{
	uint64_t value = 0;
	const void *at = wire_get(in, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

char *wire_get_text(struct wire_in *in, size_t max)
{
	uint32_t length = wire_get32(in);
	const void *at = length <= max ? wire_get(in, length) : NULL;
	char *text = NULL;

	if (at && !memchr(at, 0, length))
		text = malloc((size_t)length + 1);
	if (!text) {
		in->failed = true;
		return NULL;
	}
	memcpy(text, at, length);
	text[length] = '\0';
	return text;
}

char *wire_get_plain_text(struct wire_in *in, size_t max)
{
	char *text = wire_get_text(in, max);

	for (char *c = text; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

bool wire_done(const struct wire_in *in)
{
	return !in->failed && in->left == 0;
}
