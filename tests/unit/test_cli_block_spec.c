/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests block names on the command line: which are accepted, what they mean, and that a misspelt
 * name never names another block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/vread/block_spec.c"

static struct block_spec spec;

static void test_all_parts(void **state)
{
	(void)state;
	assert_null(block_spec_parse("BP-1-10.0.0.1-2/blk_1073741825_1001@DS-6e:134217728", &spec));
	assert_string_equal(spec.pool, "BP-1-10.0.0.1-2");
	assert_string_equal(spec.storage, "DS-6e");
	assert_int_equal(spec.block_id, 1073741825);
	assert_int_equal(spec.genstamp, 1001);
	assert_int_equal(spec.length, 134217728);
}

static void test_optional_parts(void **state)
{
	(void)state;
	assert_null(block_spec_parse("p/blk_0_0", &spec));
	assert_string_equal(spec.storage, "");
	assert_int_equal(spec.length, 0);
	assert_null(block_spec_parse("p/blk_1_2@s", &spec));
	assert_string_equal(spec.storage, "s");
	assert_null(block_spec_parse("p/blk_1_2:3", &spec));
	assert_int_equal(spec.length, 3);
}

static void test_limits(void **state)
{
	(void)state;
	assert_null(block_spec_parse("p/blk_-9223372036854775808_18446744073709551615", &spec));
	assert_true(spec.block_id == INT64_MIN);
	assert_true(spec.genstamp == UINT64_MAX);
	assert_null(block_spec_parse("p/blk_9223372036854775807_1:9223372036854775807", &spec));
	assert_true(spec.block_id == INT64_MAX);
}

static void test_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"p",
		"p/",
		"/blk_1_1",
		"p/blk_1",
		"p/blk_1_",
		"p/blk__1",
		"p/blk_-_1",
		"p/blk_-0_1",
		"p/blk_+1_1",
		"p/blk_01_1",
		"p/blk_1_01",
		"p/blk_1_-1",
		"p/blk_1_1 ",
		" p/blk_1_1",
		"p q/blk_1_1",
		"p/BLK_1_1",
		"p/blk_0x1_1",
		"p/blk_9223372036854775808_1",
		"p/blk_-9223372036854775809_1",
		"p/blk_1_18446744073709551616",
		"p/blk_1_1@",
		"p/blk_1_1@:5",
		"p/blk_1_1@a b",
		"p/blk_1_1:",
		"p/blk_1_1:0",
		"p/blk_1_1:-1",
		"p/blk_1_1:9223372036854775808",
		"p/blk_1_1:5@s",
		"p/blk_1_1:5x",
		"p/blk_1_1.meta",
		"p/q/blk_1_1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!block_spec_parse(bad[i], &spec))
			fail_msg("'%s' was taken for %s", bad[i], spec.text);
}

static void test_refuses_long_parts(void **state)
{
	char text[1024];

	(void)state;
	memset(text, 'p', sizeof(text));
	strcpy(text + VREAD_MAX_POOL_ID, "/blk_1_1");
	assert_null(block_spec_parse(text, &spec));
	memset(text, 'p', sizeof(text));
	strcpy(text + VREAD_MAX_POOL_ID + 1, "/blk_1_1");
	assert_non_null(block_spec_parse(text, &spec));
	memset(text, 's', sizeof(text));
	memcpy(text, "p/blk_1_1@", 10);
	text[10 + VREAD_MAX_STORAGE_ID] = '\0';
	assert_null(block_spec_parse(text, &spec));
	text[10 + VREAD_MAX_STORAGE_ID] = 's';
	text[11 + VREAD_MAX_STORAGE_ID] = '\0';
	assert_non_null(block_spec_parse(text, &spec));
	memset(text, 'p', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_non_null(block_spec_parse(text, &spec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_parts),
		cmocka_unit_test(test_optional_parts),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_refuses_long_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
