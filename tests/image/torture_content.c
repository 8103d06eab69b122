// SPDX-License-Identifier: GPL-2.0-or-later
/* See torture_content.h. */
#include "torture_content.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

uint64_t torture_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t torture_random(uint64_t *state)
{
	return torture_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

struct torture_shape torture_shape_of(uint32_t id, unsigned version)
{
	uint64_t h;
	/* First versions all have one length, so that each fits into the place of another. */
	struct torture_shape s = {0, 8U << 10};

	for (unsigned v = 1; v <= version; v++) {
		h = torture_mix((uint64_t)id << 8 | v);
		s.cut = h & 1 ? s.length : TORTURE_UNIT * (h % (s.length / TORTURE_UNIT));
		s.length = s.cut + TORTURE_UNIT * (1 + (h >> 20) % 800);
	}
	return s;
}

struct torture_unit torture_unit_at(uint32_t id, unsigned version, uint64_t offset)
{
	while (version > 0 && torture_shape_of(id, version).cut > offset)
		version--;
	return (struct torture_unit){id, TORTURE_FIRST_STAMP + version, offset};
}

static bool is_ahead(uint32_t id, unsigned version, const struct torture_unit *got, uint64_t offset)
{
	for (unsigned v = version + 1; v < TORTURE_VERSIONS; v++) {
		struct torture_unit later = torture_unit_at(id, v, offset);

		if (!memcmp(got, &later, sizeof(later)))
			return true;
	}
	return false;
}

enum torture_verdict torture_judge(uint32_t id, unsigned version, uint64_t offset,
				   const uint8_t *data, size_t length)
{
	for (size_t i = 0; i + TORTURE_UNIT <= length; i += TORTURE_UNIT) {
		struct torture_unit got, want = torture_unit_at(id, version, offset + i);

		memcpy(&got, data + i, sizeof(got));
		if (!memcmp(&got, &want, sizeof(got)))
			continue;
		if (is_ahead(id, version, &got, offset + i))
			return TORTURE_AHEAD;
		fprintf(stderr,
			"wrong: block %u stamp %u at %" PRIu64 ": block %u stamp %u at %" PRIu64
			", expected stamp %u\n",
			id, TORTURE_FIRST_STAMP + version, offset + i, got.id, got.stamp,
			got.offset, want.stamp);
		return TORTURE_WRONG;
	}
	return TORTURE_RIGHT;
}
