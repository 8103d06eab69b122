// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements checksum.h: CRCs by ISA-L, and by tables on QEMU's emulated processor. read.c and
 * verified_cache.c call it.
 *
 * The emulated processor has ISA-L's instructions, but executes them bit by bit (crc_table.h).
 *
 * crc32_gzip_refl() inverts before and after by itself. crc32_iscsi() leaves both inversions to its
 * caller.
 */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <endian.h>
#include <isa-l/crc.h>
#include <pthread.h>
#include <string.h>

#include "read/checksum.h"
#include "read/crc_join.h"
#include "read/crc_table.h"

#define CPUID_NAME 0x80000002U /* the first 16 bytes of the processor's name */

typedef uint32_t crc_function(const uint8_t *data, uint32_t length);

static struct crc_table crc32_table, crc32c_table;
static crc_function *crc32, *crc32c;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static uint32_t isal_crc32(const uint8_t *data, uint32_t length)
{
	return crc32_gzip_refl(0, data, length);
}

static uint32_t isal_crc32c(const uint8_t *data, uint32_t length)
{
	return ~crc32_iscsi((unsigned char *)data, (int)length, ~0U);
}

static uint32_t table_crc32(const uint8_t *data, uint32_t length)
{
	return crc_table_sum(&crc32_table, data, length);
}

static uint32_t table_crc32c(const uint8_t *data, uint32_t length)
{
	return crc_table_sum(&crc32c_table, data, length);
}

#ifdef __x86_64__
/* Tells if the processor is emulated by QEMU, by the name in cpuid. */
static bool is_emulated(void)
{
	static const char emulated[] = "QEMU TCG";
	uint32_t name[4];

	return __get_cpuid(CPUID_NAME, &name[0], &name[1], &name[2], &name[3]) &&
	       !memcmp(name, emulated, sizeof(emulated) - 1);
}
#else
static bool is_emulated(void)
{
	return false;
}
#endif

static void choose(void)
{
	crc_table_init(&crc32_table, CRC32_POLYNOMIAL);
	crc_table_init(&crc32c_table, CRC32C_POLYNOMIAL);
	crc32 = is_emulated() ? table_crc32 : isal_crc32;
	crc32c = is_emulated() ? table_crc32c : isal_crc32c;
}

bool checksum_verify(const struct meta_header *h, const uint8_t *data, size_t length,
		     const uint8_t *sums)
{
	crc_function *crc;

	pthread_once(&chosen, choose);
	crc = h->type == META_CRC32 ? crc32 : crc32c;
	while (length > 0) {
		uint32_t n = length < h->chunk ? (uint32_t)length : h->chunk;
		uint32_t sum;

		memcpy(&sum, sums, sizeof(sum));
		if (crc(data, n) != be32toh(sum))
			return false;
		data += n;
		length -= n;
		sums += sizeof(sum);
	}
	return true;
}

uint32_t checksum_crc32c(const uint8_t *data, size_t length)
{
	pthread_once(&chosen, choose);
	return crc32c(data, (uint32_t)length);
}

uint32_t checksum_of(const struct meta_header *h, const uint8_t *data, const uint8_t *sums,
		     size_t from, size_t to)
{
	size_t first = (from + h->chunk - 1) / h->chunk, end = to / h->chunk; /* whole chunks */
	size_t whole, rest;
	uint32_t sum;

	if (h->type != META_CRC32C || first >= end)
		return checksum_crc32c(data + from, to - from);
	whole = first * h->chunk;
	rest = end * h->chunk;
	sum = checksum_crc32c(data + from, whole - from);
	sum = crc_join_chunks(sum, sums + first * 4, end - first, h->chunk);
	return crc_join(sum, checksum_crc32c(data + rest, to - rest), (uint32_t)(to - rest));
}
