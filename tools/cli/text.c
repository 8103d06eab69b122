// SPDX-License-Identifier: GPL-2.0-or-later
/* text.c - implements text.h: members of documents, sizes, and lines for 80 columns. */
#include "cli/text.h"

#include <string.h>

const char *text_member(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "-";
}

int64_t text_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

const char *text_size(int64_t bytes, char buf[TEXT_SIZE])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, TEXT_SIZE, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *text_tail(const char *s, size_t room, char *buf)
{
	size_t length = strlen(s);

	if (length <= room)
		return s;
	memcpy(buf, "...", 3);
	strcpy(buf + 3, s + length - (room - 3));
	return buf;
}

void text_wrap(FILE *out, unsigned indent, const char *s)
{
	if (*s)
		text_wrap_after(out, indent, "", s);
}

void text_wrap_after(FILE *out, unsigned indent, const char *label, const char *s)
{
	const size_t room = TEXT_WIDTH - indent;

	do {
		size_t n = strlen(s);

		if (n > room) {
			n = room;
			while (n && s[n] != ' ')
				n--;
			if (!n)
				n = room;
		}
		fprintf(out, "%-*s%.*s\n", (int)indent, label, (int)n, s);
		label = "";
		s += n + strspn(s + n, " ");
	} while (*s);
}

int64_t text_sum_errors(const json_t *counters)
{
	const char *name;
	json_t *value;
	int64_t sum = 0;

	json_object_foreach(json_object_get(counters, "errors"), name, value)
	{
		sum += json_integer_value(value);
	}
	return sum;
}

size_t text_fitting(const char *s, size_t n, unsigned columns)
{
	size_t used = 0, i;

	for (i = 0; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80 && used++ == columns)
			break;
	}
	return i;
}
