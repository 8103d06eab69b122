/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements crc.h: by the instruction of SSE4.2, else by tables, eight bytes at a time.
 *
 * The instruction takes three cycles, and a new one can begin in each cycle.  So three lanes are
 * summed at once.  A lane's sum is then moved over the zero bytes of the next lane, by a table.
 *
 * QEMU's emulated processor has the instruction, but executes it bit by bit, slower than tables.
 */
#include "crc.h"

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78U /* reflected */
#define LANE ((size_t)1024)

/* table[k][b]: the effect of byte b, followed by k zero bytes. */
static uint32_t table[8][256];
/* over_lane[k][b]: byte k of a sum, with the value b, followed by LANE zero bytes. */
static uint32_t over_lane[4][256];
static bool has_instruction, prefers_instruction;
static pthread_once_t made = PTHREAD_ONCE_INIT;

static uint64_t load(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return le64toh(word);
}

/* The functions below take and return sums without the inversions. */

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t length)
{
	for (; length >= 8; length -= 8, p += 8) {
		uint64_t w = load(p) ^ crc;

		crc = table[7][w & 0xff] ^ table[6][(w >> 8) & 0xff] ^ table[5][(w >> 16) & 0xff] ^
		      table[4][(w >> 24) & 0xff] ^ table[3][(w >> 32) & 0xff] ^
		      table[2][(w >> 40) & 0xff] ^ table[1][(w >> 48) & 0xff] ^ table[0][w >> 56];
	}
	for (; length; length--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return crc;
}

static void make_table(void)
{
	for (unsigned b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned b = 0; b < 256; b++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

#ifdef __x86_64__
static void make_over_lane(void)
{
	static const uint8_t zeros[LANE];

	for (unsigned k = 0; k < 4; k++)
		for (unsigned b = 0; b < 256; b++)
			over_lane[k][b] = by_table(b << (8 * k), zeros, LANE);
}

static uint32_t move_over_lane(uint32_t crc)
{
	return over_lane[0][crc & 0xff] ^ over_lane[1][(crc >> 8) & 0xff] ^
	       over_lane[2][(crc >> 16) & 0xff] ^ over_lane[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
								 size_t length)
{
	uint64_t a = crc;

	for (; length >= 3 * LANE; length -= 3 * LANE, p += 3 * LANE) {
		uint64_t b = 0, c = 0;

		for (size_t i = 0; i < LANE; i += 8) {
			a = _mm_crc32_u64(a, load(p + i));
			b = _mm_crc32_u64(b, load(p + LANE + i));
			c = _mm_crc32_u64(c, load(p + 2 * LANE + i));
		}
		a = move_over_lane((uint32_t)a) ^ b;
		a = move_over_lane((uint32_t)a) ^ c;
	}
	for (; length >= 8; length -= 8, p += 8)
		a = _mm_crc32_u64(a, load(p));
	for (crc = (uint32_t)a; length; length--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}

/* Tells by the processor's name if QEMU emulates it. */
static bool is_emulated(void)
{
	static const char emulated[] = "QEMU TCG";
	const unsigned name_leaf = 0x80000002U; /* its first 16 bytes */
	unsigned name[4];

	return __get_cpuid(name_leaf, &name[0], &name[1], &name[2], &name[3]) &&
	       !memcmp(name, emulated, sizeof(emulated) - 1);
}

static void make(void)
{
	make_table();
	make_over_lane();
	has_instruction = __builtin_cpu_supports("sse4.2");
	prefers_instruction = has_instruction && !is_emulated();
}
#else
static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t length)
{
	return by_table(crc, p, length);
}

static void make(void)
{
	make_table();
}
#endif

uint32_t vcrc_sum_by_table(const void *data, size_t length)
{
	pthread_once(&made, make);
	return ~by_table(~0U, data, length);
}

uint32_t vcrc_sum_by_instruction(const void *data, size_t length)
{
	pthread_once(&made, make);
	return has_instruction ? ~by_instruction(~0U, data, length)
			       : vcrc_sum_by_table(data, length);
}

uint32_t vcrc_sum(const void *data, size_t length)
{
	pthread_once(&made, make);
	return ~(prefers_instruction ? by_instruction : by_table)(~0U, data, length);
}
