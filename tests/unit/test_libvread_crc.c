/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests libvread's CRC32C: known values, and that both ways to compute it agree with ISA-L. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <isa-l/crc.h>

#include "crc.h"

#define SIZE 20000 /* several blocks of three lanes */

static uint8_t data[SIZE + 8];

static void known_values(void **state)
{
	(void)state;
	assert_int_equal(vcrc_sum("123456789", 9), 0xe3069283);
	assert_int_equal(vcrc_sum("", 0), 0);
}

static void assert_sums(const uint8_t *start, size_t length)
{
	uint32_t sum = ~crc32_iscsi((unsigned char *)start, (int)length, ~0U);

	assert_int_equal(vcrc_sum_by_table(start, length), sum);
	assert_int_equal(vcrc_sum_by_instruction(start, length), sum);
	assert_int_equal(vcrc_sum(start, length), sum);
}

static void every_length_and_alignment(void **state)
{
	(void)state;
	for (size_t length = 0; length < 700; length++)
		assert_sums(data + length % 8, length);
	for (size_t length = 700; length <= SIZE; length += 61)
		assert_sums(data + length % 8, length);
	for (size_t length = 3 * 1024 - 9; length <= 3 * 1024 + 9; length++)
		assert_sums(data, length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(every_length_and_alignment),
	};

	srandom(7);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
