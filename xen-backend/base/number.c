// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Strict parsing of unsigned numbers; see number.h.  The readers of vread.conf, xenstore and
 * command lines call it.
 */
#include "base/number.h"

#include <stdio.h>
#include <string.h>

bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t n = 0;

	if (!text[0] || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (unsigned)(*text - '0');
		if (n > UINT32_MAX)
			return false;
	}
	if (n < min || n > max)
		return false;
	*ret = (uint32_t)n;
	return true;
}

bool parse_bytes(const char *text, uint64_t *ret)
{
	static const char units[] = "KMG";
	size_t length = strlen(text);
	const char *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	char digits[16];
	uint32_t number;

	if (length >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)(length - (unit ? 1 : 0)), text);
	if (!parse_number(digits, 0, UINT32_MAX, &number))
		return false;
	*ret = (uint64_t)number << shift;
	return true;
}
