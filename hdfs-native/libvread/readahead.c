/* SPDX-License-Identifier: Apache-2.0 */
/* Implements readahead.h. */
#include "readahead.h"

#define FIRST_WINDOW ((size_t)128 << 10)

void readahead_init(struct readahead *ra, size_t maximum)
{
	*ra = (struct readahead){.maximum = maximum};
}

void readahead_note(struct readahead *ra, uint64_t offset, size_t length)
{
	if (offset != ra->next)
		ra->window = 0;
	else if (!ra->window)
		ra->window = FIRST_WINDOW;
	else if (ra->window <= ra->maximum / 2)
		ra->window *= 2;
	else
		ra->window = ra->maximum;
	if (ra->window > ra->maximum)
		ra->window = ra->maximum;
	ra->next = offset + length;
}

size_t readahead_chunk(uint64_t offset, uint64_t until, size_t largest)
{
	uint64_t edge = offset - offset % largest + largest;

	return (size_t)((until < edge ? until : edge) - offset);
}
