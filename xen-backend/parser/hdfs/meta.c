// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses the header of a .meta file. locate.c calls it; meta.h describes the format.
 */
#include <errno.h>

#include "parser/hdfs/meta.h"

static int refused(const char **ret_reason, int error, const char *reason)
{
	*ret_reason = reason;
	return error;
}

int meta_parse(const uint8_t *raw, size_t length, struct meta_header *ret, const char **ret_reason)
{
	uint32_t chunk;

	if (length < META_HEADER_BYTES)
		return refused(ret_reason, -EILSEQ, "shorter than its header");
	if (raw[0] != 0 || raw[1] != 1)
		return refused(ret_reason, -EILSEQ, "of another version than 1");
	if (raw[2] == 0)
		return refused(ret_reason, -EOPNOTSUPP, "without checksums (type NULL)");
	if (raw[2] != META_CRC32 && raw[2] != META_CRC32C)
		return refused(ret_reason, -EILSEQ, "of an unknown checksum type");
	chunk = (uint32_t)raw[3] << 24 | (uint32_t)raw[4] << 16 | (uint32_t)raw[5] << 8 | raw[6];
	if (chunk == 0 || chunk > INT32_MAX)
		return refused(ret_reason, -EILSEQ, "with no bytes per checksum");
	if (chunk < META_MIN_CHUNK || chunk > META_MAX_CHUNK)
		return refused(ret_reason, -EOPNOTSUPP,
			       "with bytes per checksum outside 16 .. 1 MiB");
	ret->type = (enum meta_type)raw[2];
	ret->chunk = chunk;
	return 0;
}
