// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for a word in a list of words; see words.h. */
#include "base/words.h"

#include <string.h>

bool words_have(const char *list, const char *word, size_t length)
{
	while (*(list += strspn(list, " "))) {
		size_t n = strcspn(list, " ");

		if (n == length && memcmp(list, word, n) == 0)
			return true;
		list += n;
	}
	return false;
}
