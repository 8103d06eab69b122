// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements checksum.h: CRCs by ISA-L, or by tables where tables are faster. read.c calls it.
 *
 * The first use measures which of the two is faster. cpuid cannot tell: an emulated processor has
 * ISA-L's instructions, but executes them slowly.
 *
 * crc32_gzip_refl() inverts before and after by itself. crc32_iscsi() leaves both inversions to its
 * caller.
 */
#include <endian.h>
#include <isa-l/crc.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "read/checksum.h"
#include "read/crc_table.h"

#define TRIAL_BYTES (16U << 10)
#define TRIAL_CHUNK 512U
#define TRIALS 5

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

/* Returns the shortest of a few runs, in nanoseconds. */
static uint64_t trial(crc_function *crc, const uint8_t *data)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIALS; i++) {
		uint64_t begun = clock_measure_ns(), ns;

		for (uint32_t at = 0; at < TRIAL_BYTES; at += TRIAL_CHUNK) {
			volatile uint32_t sum = crc(data + at, TRIAL_CHUNK);

			(void)sum;
		}
		ns = clock_measure_ns() - begun;
		if (ns < best)
			best = ns;
	}
	return best;
}

static crc_function *faster(const char *name, crc_function *isal, crc_function *table)
{
	static uint8_t data[TRIAL_BYTES];
	uint64_t by_isal = trial(isal, data), by_table = trial(table, data);

	log_debug("checksums: %s of 16 KiB: ISA-L %llu ns, tables %llu ns", name,
		  (unsigned long long)by_isal, (unsigned long long)by_table);
	return by_table < by_isal ? table : isal;
}

static void choose(void)
{
	crc_table_init(&crc32_table, CRC32_POLYNOMIAL);
	crc_table_init(&crc32c_table, CRC32C_POLYNOMIAL);
	crc32 = faster("CRC32", isal_crc32, table_crc32);
	crc32c = faster("CRC32C", isal_crc32c, table_crc32c);
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
