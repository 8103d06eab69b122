/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc_join.h - the CRC32C of bytes that follow one another, computed from the CRC32Cs of the parts.
 * checksum.c, read.c, verified_cache.c and peer/answering/answer.c use these functions.
 *
 * A join touches no byte of the data. So the CRC32C of whole chunks costs four table lookups per
 * chunk once the chunks' own checksums are verified. All sums have the customary inversions. The
 * CRC32C of no bytes is 0. Threads: any.
 */
#ifndef VREAD_READ_CRC_JOIN_H
#define VREAD_READ_CRC_JOIN_H

#include <stddef.h>
#include <stdint.h>

/* first: the CRC32C of some bytes; second: of the `length` bytes behind them. */
uint32_t crc_join(uint32_t first, uint32_t second, uint32_t length);

/*
 * Joins `count` sums to first. Each is the CRC32C of `chunk` bytes. sums is as in a .meta file:
 * four bytes each, big-endian.
 */
uint32_t crc_join_chunks(uint32_t first, const uint8_t *sums, size_t count, uint32_t chunk);

#endif
