/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc_table.h - CRCs by tables, eight bytes at a time. checksum.c uses these functions on emulated
 * processors.
 *
 * ISA-L's instructions are slow on emulated processors. Emulators execute carry-less multiplication
 * and crc32 bit by bit, several times slower than tables (measured under QEMU 7.2's TCG: 60 against
 * 250 MB/s).
 */
#ifndef VREAD_READ_CRC_TABLE_H
#define VREAD_READ_CRC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define CRC32_POLYNOMIAL 0xedb88320U  /* reflected */
#define CRC32C_POLYNOMIAL 0x82f63b78U /* reflected */

/* table[k][b]: the effect of byte b followed by k zero bytes. */
struct crc_table {
	uint32_t table[8][256];
};

void crc_table_init(struct crc_table *t, uint32_t polynomial);
/* The CRC with the customary inversions before and after. */
uint32_t crc_table_sum(const struct crc_table *t, const uint8_t *data, size_t length);

#endif
