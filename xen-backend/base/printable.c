// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks that a text is UTF-8 without control characters; see printable.h.  Called by disk/. */
#include "base/printable.h"

#include <stddef.h>
#include <stdint.h>

/* Decodes one character.  Returns its bytes, or 0 if they are not UTF-8. */
static size_t decode(const unsigned char *at, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* by length */
	size_t length = at[0] < 0x80             ? 1
			: (at[0] & 0xe0) == 0xc0 ? 2
			: (at[0] & 0xf0) == 0xe0 ? 3
			: (at[0] & 0xf8) == 0xf0 ? 4
						 : 0;

	*ret = length == 1 ? at[0] : at[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (at[i] & 0x3f);
	}
	return length && *ret >= least[length] ? length : 0;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

bool printable(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t c;
		size_t length = decode(at, &c);

		if (!length || is_control(c) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return false;
		at += length;
	}
	return true;
}
