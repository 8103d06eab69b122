/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the variable part of OPEN: byte for byte as vreadif.h draws it, and nothing that the
 * backend would refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "open_data.h"
#include "vread.h"

static uint8_t out[VREAD_MAX_OPEN_DATA];

static void test_every_part(void **state)
{
	const char *const storages[] = {"DS-1", "DS-22"};
	const struct vread_block block = {
		.pool_id = "BP-1",
		.storage_ids = storages,
		.num_storage_ids = 2,
		.token = "\0tok",
		.token_length = 4,
	};
	static const char expected[] = "\4\0\2\0\4\0\0\0"
				       "BP-1"
				       "\4DS-1\5DS-22"
				       "\0tok";

	(void)state;
	assert_int_equal(open_data_encode(&block, out), sizeof(expected) - 1);
	assert_memory_equal(out, expected, sizeof(expected) - 1);
}

static void test_protection_is_a_flag(void **state)
{
	const struct vread_block encrypted = {.pool_id = "B", .protect = VREAD_PROTECT_ENCRYPT};
	const struct vread_block mac = {.pool_id = "B", .protect = VREAD_PROTECT_MAC};
	const struct vread_block unknown = {.pool_id = "B", .protect = 3};

	(void)state;
	assert_int_equal(open_data_encode(&encrypted, out), 9);
	assert_memory_equal(out, "\1\0\0\0\0\0\1\0B", 9);
	assert_int_equal(open_data_encode(&mac, out), 9);
	assert_memory_equal(out, "\1\0\0\0\0\0\2\0B", 9);
	assert_int_equal(open_data_encode(&unknown, out), -EINVAL);
}

static void test_pool_alone(void **state)
{
	const struct vread_block block = {.pool_id = "B"};

	(void)state;
	assert_int_equal(open_data_encode(&block, out), 9);
	assert_memory_equal(out, "\1\0\0\0\0\0\0\0B", 9);
}

static void refuses(const struct vread_block *block)
{
	assert_int_equal(open_data_encode(block, out), -EINVAL);
}

static void test_refuses_bad_parts(void **state)
{
	static char long_name[300];
	static const char *const empty[] = {""};
	static const char *const null[] = {NULL};
	static const char *const longest[] = {long_name};

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	refuses(&(struct vread_block){.pool_id = NULL});
	refuses(&(struct vread_block){.pool_id = ""});
	refuses(&(struct vread_block){.pool_id = long_name});
	refuses(&(struct vread_block){.pool_id = "B", .storage_ids = empty, .num_storage_ids = 1});
	refuses(&(struct vread_block){.pool_id = "B", .storage_ids = null, .num_storage_ids = 1});
	refuses(&(
		struct vread_block){.pool_id = "B", .storage_ids = longest, .num_storage_ids = 1});
	refuses(&(struct vread_block){.pool_id = "B", .num_storage_ids = 1});
	refuses(&(struct vread_block){.pool_id = "B", .storage_ids = empty, .num_storage_ids = 65});
	refuses(&(struct vread_block){.pool_id = "B", .token_length = 1});
	refuses(&(struct vread_block){.pool_id = "B", .token = long_name, .token_length = 8193});
}

/* Each part is within its limit, but the sum is too long. */
static void test_refuses_too_much_together(void **state)
{
	static uint8_t token[8192];
	static char storage[128], pool[256];
	const char *storages[64];
	struct vread_block block = {
		.pool_id = pool,
		.storage_ids = storages,
		.num_storage_ids = 64,
		.token = token,
		.token_length = sizeof(token),
	};

	(void)state;
	memset(storage, 's', 127);
	memset(pool, 'p', 255);
	for (int i = 0; i < 64; i++)
		storages[i] = storage;
	refuses(&block);
	block.token_length = VREAD_MAX_OPEN_DATA - 8 - 255 - 64 * 128;
	assert_int_equal(open_data_encode(&block, out), VREAD_MAX_OPEN_DATA);
	block.token_length++;
	refuses(&block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_part),
		cmocka_unit_test(test_pool_alone),
		cmocka_unit_test(test_protection_is_a_flag),
		cmocka_unit_test(test_refuses_bad_parts),
		cmocka_unit_test(test_refuses_too_much_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
