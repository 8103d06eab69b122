/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checksum.h - compares block data with the checksums of its .meta file. read.c verifies all block
 * data with it.
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

#endif
