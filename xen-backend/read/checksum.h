/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checksum.h - block data against the checksums of its .meta.
 */
#ifndef VREAD_READ_CHECKSUM_H
#define VREAD_READ_CHECKSUM_H

#include "parser-protocol/blocks.h"

/* Verifies length bytes, which begin at a chunk's start, against sums: 4 bytes
 * for each chunk, the last of which may be short. */
bool checksum_verify(const struct meta_header *h, const uint8_t *data, size_t length,
		     const uint8_t *sums);

#endif
