/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meta.h - the header of a block's .meta file.
 *
 *   int16  version, 1
 *   int8   checksum type: 0 none, 1 CRC32, 2 CRC32C
 *   int32  bytes per checksum
 *   int32  one checksum per chunk of the block; the last chunk may be short
 *
 * All big-endian.  Pure functions: the bytes come out of a guest's image.
 */
#ifndef VREAD_BLOCK_META_H
#define VREAD_BLOCK_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define META_HEADER_BYTES 7U
#define META_MIN_CHUNK 16U
#define META_MAX_CHUNK (1U << 20)

enum meta_type { META_CRC32 = 1, META_CRC32C = 2 };

struct meta_header {
	enum meta_type type;
	uint32_t chunk; /* bytes per checksum */
};

/* 0, or -EILSEQ with *ret_reason (static text): too short, malformed, or without
 * checksums, which leaves nothing to verify the block by. */
int meta_parse(const uint8_t *raw, size_t length, struct meta_header *ret, const char **ret_reason);

/* Length of the .meta of a block of data_length bytes; false on overflow. */
bool meta_expected_length(const struct meta_header *h, uint64_t data_length, uint64_t *ret);

#endif
