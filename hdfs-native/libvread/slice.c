/* SPDX-License-Identifier: Apache-2.0 */
/* Implements slice.h. */
#include "slice.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void slice_init(struct slice *s, uint32_t pages)
{
	assert(pages <= VREAD_MAX_POOL_PAGES);
	memset(s, 0, sizeof(*s));
	s->pages = pages;
	s->free_pages = pages;
}

/* Returns the first page from `from` on whose bit equals `set`, or s->pages. */
static uint32_t next_page(const struct slice *s, uint32_t from, int set)
{
	while (from < s->pages) {
		uint64_t word = s->used[from / 64];
		if (!set)
			word = ~word;
		word >>= from % 64;
		if (word) {
			from += (uint32_t)__builtin_ctzll(word);
			return from < s->pages ? from : s->pages;
		}
		from = (from / 64 + 1) * 64;
	}
	return s->pages;
}

static void mark(struct slice *s, uint32_t first, uint32_t pages, int set)
{
	while (pages) {
		uint32_t bit = first % 64;
		uint32_t n = pages < 64 - bit ? pages : 64 - bit;
		uint64_t mask = (n == 64 ? ~0ULL : (1ULL << n) - 1) << bit;

		if (set) {
			assert(!(s->used[first / 64] & mask));
			s->used[first / 64] |= mask;
		} else {
			assert((s->used[first / 64] & mask) == mask);
			s->used[first / 64] &= ~mask;
		}
		first += n;
		pages -= n;
	}
}

int slice_take(struct slice *s, uint32_t pages, uint32_t *ret_first)
{
	uint32_t first = 0;

	if (!pages || pages > s->pages)
		return -EINVAL;
	if (pages > s->free_pages)
		return -EAGAIN;
	for (;;) {
		uint32_t end;

		first = next_page(s, first, 0);
		if (s->pages - first < pages)
			return -EAGAIN;
		end = next_page(s, first, 1);
		if (end - first >= pages)
			break;
		first = end;
	}
	mark(s, first, pages, 1);
	s->free_pages -= pages;
	*ret_first = first;
	return 0;
}

void slice_give(struct slice *s, uint32_t first, uint32_t pages)
{
	assert(first <= s->pages && pages <= s->pages - first);
	mark(s, first, pages, 0);
	s->free_pages += pages;
}
