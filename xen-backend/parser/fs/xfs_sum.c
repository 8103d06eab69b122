// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Computes XFS's checksums; see xfs_format.h.  The xfs_*.c files that read metadata or the log call
 * these functions.
 */
#include <isa-l/crc.h>

#include "parser/fs/xfs_format.h"

uint32_t xfs_sum_add(uint32_t sum, const uint8_t *data, size_t length)
{
	return crc32_iscsi((unsigned char *)data, (int)length, sum);
}

bool xfs_sum_right(const uint8_t *data, size_t length, size_t sum_at)
{
	static const uint8_t none[4];
	uint32_t sum = xfs_sum_add(XFS_SUM_SEED, data, sum_at);

	sum = xfs_sum_add(sum, none, sizeof(none));
	sum = xfs_sum_add(sum, data + sum_at + 4, length - sum_at - 4);
	return ~sum == xfs_item_get32(data + sum_at);
}
