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
#ifndef VREAD_PARSER_HDFS_META_H
#define VREAD_PARSER_HDFS_META_H

#include "parser-protocol/blocks.h"

/* 0, or -EILSEQ with *ret_reason (static text): too short, malformed, or without
 * checksums, which leaves nothing to verify the block by. */
int meta_parse(const uint8_t *raw, size_t length, struct meta_header *ret, const char **ret_reason);

#endif
