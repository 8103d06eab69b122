/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.c - implements limits.h.  Called by spec.c. */
#include "limits.h"

#include <stdio.h>

#include "base/number.h"
#include "vread-ring-user.h"

#define KIB_PER_PAGE (VREAD_PAGE_SIZE >> 10)

const char *limits_parse_queues(const char *text, unsigned *ret)
{
	static char expected[48];

	if (parse_number(text, 1, VREAD_MAX_QUEUES, ret))
		return NULL;
	snprintf(expected, sizeof(expected), "a number from 1 to %u", VREAD_MAX_QUEUES);
	return expected;
}

const char *limits_parse_pool_size(const char *text, unsigned *ret_pages)
{
	static char expected[96];
	uint64_t bytes;

	if (parse_bytes(text, &bytes) && bytes % VREAD_PAGE_SIZE == 0 &&
	    bytes >= (uint64_t)VREAD_MIN_POOL_PAGES * VREAD_PAGE_SIZE &&
	    bytes <= (uint64_t)VREAD_MAX_POOL_PAGES * VREAD_PAGE_SIZE) {
		*ret_pages = (unsigned)(bytes / VREAD_PAGE_SIZE);
		return NULL;
	}
	snprintf(expected, sizeof(expected), "a size like 4M, from %uK to %uM, in pages of %uK",
		 VREAD_MIN_POOL_PAGES * KIB_PER_PAGE, VREAD_MAX_POOL_PAGES * KIB_PER_PAGE >> 10,
		 KIB_PER_PAGE);
	return expected;
}
