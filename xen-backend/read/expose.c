// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements expose.h: plain and streaming copies, and the choice between them. read.c and
 * verified_cache.c call it.
 */
#include "base/clock.h"
#include "read/expose.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * One copy in every interval uses the kind of copy that is not preferred. The interval is shorter
 * at first, while the pages of the pool are new and their first use misleads.
 */
#define PROBE_INTERVAL 64
#define FIRST_INTERVAL 4
#define FIRST_COPIES 128
#define SMOOTHING 4
#define OUTLIER 4 /* times the usual cost: the thread was interrupted */

/* Streaming must be cheaper by this factor. If both cost about the same, the copy stays plain. */
#define ADVANTAGE_NUM 9
#define ADVANTAGE_DEN 8

bool expose_streams(struct expose_pace *pace)
{
	unsigned interval = pace->turn < FIRST_COPIES ? FIRST_INTERVAL : PROBE_INTERVAL;
	bool streams =
		(uint64_t)pace->streamed * ADVANTAGE_NUM < (uint64_t)pace->plain * ADVANTAGE_DEN;

	if (!pace->plain || !pace->streamed)
		return pace->plain != 0;
	if (++pace->turn == 2 * FIRST_COPIES)
		pace->turn = FIRST_COPIES; /* wraps around without counting as new again */
	return pace->turn % interval ? streams : !streams;
}

void expose_note(struct expose_pace *pace, bool streamed, unsigned ns_per_unit)
{
	unsigned *known = streamed ? &pace->streamed : &pace->plain;
	unsigned now = ns_per_unit ?: 1;

	if (*known && now / OUTLIER > *known)
		now = *known * OUTLIER;
	*known = *known ? *known - *known / SMOOTHING + now / SMOOTHING : now;
	if (!*known)
		*known = 1;
}

#ifdef __SSE2__
static bool streamable(const void *dst)
{
	return (uintptr_t)dst % sizeof(__m128i) == 0;
}

void expose_streaming(void *dst, const void *src, size_t length)
{
	__m128i *to = dst;
	const __m128i *from = src;
	size_t whole = length / (4 * sizeof(*to)) * 4;

	for (size_t i = 0; i < whole; i += 4) {
		__m128i a = _mm_loadu_si128(from + i), b = _mm_loadu_si128(from + i + 1);
		__m128i c = _mm_loadu_si128(from + i + 2), d = _mm_loadu_si128(from + i + 3);

		_mm_stream_si128(to + i, a);
		_mm_stream_si128(to + i + 1, b);
		_mm_stream_si128(to + i + 2, c);
		_mm_stream_si128(to + i + 3, d);
	}
	memcpy(to + whole, from + whole, length - whole * sizeof(*to));
	_mm_sfence(); /* the response must not overtake the bytes */
}
#else
static bool streamable(const void *dst)
{
	(void)dst;
	return false;
}

void expose_streaming(void *dst, const void *src, size_t length)
{
	memcpy(dst, src, length);
}
#endif

void expose(void *dst, const void *src, size_t length)
{
	static _Thread_local struct expose_pace pace;
	uint64_t start, ns;
	bool streams;

	if (length < EXPOSE_UNIT || !streamable(dst)) {
		memcpy(dst, src, length);
		return;
	}
	streams = expose_streams(&pace);
	start = clock_measure_ns();
	if (streams)
		expose_streaming(dst, src, length);
	else
		memcpy(dst, src, length);
	ns = (clock_measure_ns() - start) / (length / EXPOSE_UNIT);
	expose_note(&pace, streams,
		    ns > UINT32_MAX / OUTLIER ? UINT32_MAX / OUTLIER : (unsigned)ns);
}
