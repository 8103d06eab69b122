/* SPDX-License-Identifier: Apache-2.0 */
/* Implements sized.h. */
#include "sized.h"

#include <errno.h>
#include <string.h>

/* A member that is added later must not lie in what was padding: older programs do not set that. */
#define ENDS_WITH(type, member)                                                              \
	_Static_assert(sizeof(type) == offsetof(type, member) + sizeof(((type *)0)->member), \
		       "padding at the end of " #type)
ENDS_WITH(struct vread_options, interrupted_opaque);
ENDS_WITH(struct vread_block, reserved);
ENDS_WITH(struct vread_stat, reserved);

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int copy_in(void *dst, size_t known, size_t minimum, const void *src, size_t size)
{
	if (size < minimum)
		return -EINVAL;
	for (size_t i = known; i < size; i++)
		if (((const unsigned char *)src)[i])
			return -E2BIG;
	memset(dst, 0, known);
	memcpy(dst, src, least(known, size));
	return 0;
}

int sized_options(struct vread_options *ret, const void *options, size_t size)
{
	return copy_in(ret, sizeof(*ret), OPTIONS_BYTES_0_1_0, options, size);
}

int sized_block(struct vread_block *ret, const void *block, size_t size)
{
	int r = copy_in(ret, sizeof(*ret), BLOCK_BYTES_0_1_0, block, size);

	return r ?: ret->reserved ? -E2BIG : 0;
}

int sized_stat(void *ret, size_t size, const struct vread_stat *stat)
{
	if (size < STAT_BYTES_0_1_0)
		return -EINVAL;
	memset(ret, 0, size);
	memcpy(ret, stat, least(sizeof(*stat), size));
	return 0;
}
