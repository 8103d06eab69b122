/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number.c - see number.h. */
#include "base/number.h"

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
