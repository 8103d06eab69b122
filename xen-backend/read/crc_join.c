// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements crc_join.h: a CRC of n more zero bytes is the CRC times x^8n, modulo the polynomial.
 *
 * Polynomials are reflected: the highest bit is the coefficient of x^0.
 */
#include "read/crc_join.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "read/crc_table.h"

#define ONE (1U << 31) /* x^0 */
#define POWERS 35U     /* any length below 2^32 bytes has less than 2^35 bits */

/* powers[n]: x^(2^n) */
static uint32_t powers[POWERS];
static pthread_once_t powers_made = PTHREAD_ONCE_INIT;

/* table[k][b]: byte b, as byte k of a sum, after the zero bytes of a chunk. */
struct shift {
	uint32_t chunk; /* 0: the table is not made yet */
	uint32_t table[4][256];
};

static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		if (a & ONE)
			product ^= b;
		b = (b >> 1) ^ (b & 1 ? CRC32C_POLYNOMIAL : 0);
	}
	return product;
}

static void make_powers(void)
{
	powers[0] = ONE >> 1;
	for (unsigned n = 1; n < POWERS; n++)
		powers[n] = multiply(powers[n - 1], powers[n - 1]);
}

/* Returns x^(8 * length). */
static uint32_t power_of(uint32_t length)
{
	uint32_t product = ONE;

	pthread_once(&powers_made, make_powers);
	for (unsigned n = 3; length; n++, length >>= 1)
		if (length & 1)
			product = multiply(powers[n], product);
	return product;
}

uint32_t crc_join(uint32_t first, uint32_t second, uint32_t length)
{
	return first ? multiply(power_of(length), first) ^ second : second;
}

static void make_shift(struct shift *s, uint32_t chunk)
{
	uint32_t power = power_of(chunk);

	s->chunk = chunk;
	for (unsigned k = 0; k < 4; k++)
		for (unsigned b = 1; b < 256; b++) {
			unsigned rest = b & (b - 1); /* b without its lowest bit */

			s->table[k][b] = rest ? s->table[k][rest] ^ s->table[k][b ^ rest]
					      : multiply(power, b << (8 * k));
		}
}

uint32_t crc_join_chunks(uint32_t first, const uint8_t *sums, size_t count, uint32_t chunk)
{
	/* The chunks of one client's blocks have the same size nearly always. */
	static _Thread_local struct shift s;
	uint32_t crc = first;

	if (count > 0 && s.chunk != chunk)
		make_shift(&s, chunk);
	for (; count > 0; count--, sums += sizeof(uint32_t)) {
		uint32_t sum;

		memcpy(&sum, sums, sizeof(sum));
		crc = s.table[0][crc & 0xff] ^ s.table[1][(crc >> 8) & 0xff] ^
		      s.table[2][(crc >> 16) & 0xff] ^ s.table[3][crc >> 24] ^ be32toh(sum);
	}
	return crc;
}
