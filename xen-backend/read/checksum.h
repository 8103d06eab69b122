/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checksum.h - compares block data with the checksums of its .meta file, and makes the CRC32C of
 * bytes that were compared. read.c verifies all block data with it.
 */
#ifndef VREAD_READ_CHECKSUM_H
#define VREAD_READ_CHECKSUM_H

#include "parser-protocol/blocks.h"

/*
 * True if length bytes of data match sums. data begins at the start of a chunk. sums holds 4 bytes
 * for each chunk. The last chunk may be short.
 */
bool checksum_verify(const struct meta_header *h, const uint8_t *data, size_t length,
		     const uint8_t *sums);

/*
 * Returns the CRC32C of the bytes [from, to) of data, which checksum_verify() has found right with
 * these arguments. Where sums holds CRC32Cs of whole chunks, it is made of them; else of the bytes.
 * So data must be memory that nobody has written since.
 */
uint32_t checksum_of(const struct meta_header *h, const uint8_t *data, const uint8_t *sums,
		     size_t from, size_t to);
uint32_t checksum_crc32c(const uint8_t *data, size_t length);

#endif
