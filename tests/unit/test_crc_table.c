/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests that CRCs by tables equal those of ISA-L and the published check values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <isa-l/crc.h>

#include "read/crc_table.h"

#define SIZE 1031

static struct crc_table crc32, crc32c;

static void check_values(void **state)
{
	const uint8_t *digits = (const uint8_t *)"123456789";

	(void)state;
	assert_int_equal(crc_table_sum(&crc32, digits, 9), 0xcbf43926);
	assert_int_equal(crc_table_sum(&crc32c, digits, 9), 0xe3069283);
	assert_int_equal(crc_table_sum(&crc32c, digits, 0), 0);
}

static void same_as_isal_at_every_length_and_alignment(void **state)
{
	static uint8_t data[SIZE + 8];

	(void)state;
	srandom(7);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random();
	for (int length = 0; length <= SIZE; length++) {
		const uint8_t *start = data + length % 8;

		assert_int_equal(crc_table_sum(&crc32, start, (size_t)length),
				 crc32_gzip_refl(0, start, (uint64_t)length));
		assert_int_equal(crc_table_sum(&crc32c, start, (size_t)length),
				 ~crc32_iscsi((unsigned char *)start, length, ~0U));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_values),
		cmocka_unit_test(same_as_isal_at_every_length_and_alignment),
	};

	crc_table_init(&crc32, CRC32_POLYNOMIAL);
	crc_table_init(&crc32c, CRC32C_POLYNOMIAL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
