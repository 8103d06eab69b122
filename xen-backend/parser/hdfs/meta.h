/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meta.h - parses the header of a block's .meta file. Called by locate.c. A pure function: the
 * bytes come from a guest's image.
 *
 *   int16  version, 1
 *   int8   checksum type: 0 none, 1 CRC32, 2 CRC32C
 *   int32  bytes per checksum
 *   int32  one checksum per chunk of the block; the last chunk may be short
 *
 * All numbers are big-endian.
 */
#ifndef VREAD_PARSER_HDFS_META_H
#define VREAD_PARSER_HDFS_META_H

#include "parser-protocol/blocks.h"

/* Returns 0, or an error with `*ret_reason` (static text). -EILSEQ: the header is too short or
 * malformed. -EOPNOTSUPP: HDFS may write such a header, and vRead verifies no such block: there are
 * no checksums, or each is of fewer than META_MIN_CHUNK or more than META_MAX_CHUNK bytes. */
int meta_parse(const uint8_t *raw, size_t length, struct meta_header *ret, const char **ret_reason);

#endif
