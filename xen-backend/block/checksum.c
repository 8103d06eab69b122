// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CRCs by ISA-L; see checksum.h.  crc32_gzip_refl() inverts before and after by
 * itself, crc32_iscsi() leaves both to its caller.
 */
#include <endian.h>
#include <isa-l/crc.h>
#include <string.h>

#include "block/checksum.h"

static uint32_t crc32(const uint8_t *data, uint32_t length)
{
	return crc32_gzip_refl(0, data, length);
}

static uint32_t crc32c(const uint8_t *data, uint32_t length)
{
	return ~crc32_iscsi((unsigned char *)data, (int)length, ~0U);
}

bool checksum_verify(const struct meta_header *h, const uint8_t *data, size_t length,
		     const uint8_t *sums)
{
	uint32_t (*crc)(const uint8_t *, uint32_t) = h->type == META_CRC32 ? crc32 : crc32c;

	while (length > 0) {
		uint32_t n = length < h->chunk ? (uint32_t)length : h->chunk;
		uint32_t sum;

		memcpy(&sum, sums, sizeof(sum));
		if (crc(data, n) != be32toh(sum))
			return false;
		data += n;
		length -= n;
		sums += sizeof(sum);
	}
	return true;
}
