/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the checks of requests and of OPEN's data (ring/validate.h, ring/open_data.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ring/open_data.h"
#include "ring/validate.h"

#define POOL 100U

static struct vread_request good(uint8_t operation)
{
	struct vread_request r = {.operation = operation};

	switch (operation) {
	case VREAD_OP_OPEN:
		r.pool_pages = 1;
		r.u.open.data_length = 8;
		break;
	case VREAD_OP_READ:
		r.pool_pages = 1;
		r.u.read.length = 1;
		break;
	case VREAD_OP_PUBLISH:
		r.pool_pages = 1;
		r.u.publish.data_length = 8;
		r.u.publish.event = VREAD_PUBLISH_FINALIZED;
		break;
	case VREAD_OP_KEYS:
		r.pool_pages = 1;
		r.u.keys.data_length = 8;
		break;
	default:
		break;
	}
	return r;
}

static void test_good_requests(void **state)
{
	(void)state;
	for (uint8_t op = VREAD_OP_OPEN; op <= VREAD_OP_KEYS; op++) {
		struct vread_request r = good(op);

		assert_int_equal(validate_request(&r, POOL), 0);
	}
}

static void test_unknown_operations(void **state)
{
	(void)state;
	for (unsigned op = 0; op < 256; op++) {
		struct vread_request r;

		if (op >= VREAD_OP_OPEN && op <= VREAD_OP_KEYS)
			continue;
		memset(&r, 0xff, sizeof(r));
		r.operation = (uint8_t)op;
		assert_int_equal(validate_request(&r, POOL), -EOPNOTSUPP);
	}
}

/* Marks the bytes of a request that the operation uses.  All other bytes must be 0. */
static void used_bytes(uint8_t operation, uint8_t used[64])
{
	memset(used, 0, 64);
	memset(used, 1, 3); /* id, operation */
	if (operation == VREAD_OP_CLOSE || operation == VREAD_OP_STAT || operation == VREAD_OP_READ)
		memset(used + 12, 1, 4); /* handle */
	if (operation == VREAD_OP_OPEN || operation == VREAD_OP_READ ||
	    operation == VREAD_OP_PUBLISH || operation == VREAD_OP_KEYS)
		memset(used + 4, 1, 8); /* pool range */
	if (operation == VREAD_OP_OPEN)
		memset(used + 16, 1, 32);
	if (operation == VREAD_OP_READ)
		memset(used + 16, 1, 12);
	if (operation == VREAD_OP_PUBLISH)
		memset(used + 16, 1, 32);
	if (operation == VREAD_OP_KEYS)
		memset(used + 16, 1, 8);
}

static void test_every_unused_byte_must_be_zero(void **state)
{
	(void)state;
	for (uint8_t op = VREAD_OP_OPEN; op <= VREAD_OP_KEYS; op++) {
		uint8_t used[64];

		used_bytes(op, used);
		for (unsigned i = 0; i < sizeof(used); i++) {
			struct vread_request r = good(op);

			if (used[i])
				continue;
			((uint8_t *)&r)[i] = 0x80;
			assert_int_equal(validate_request(&r, POOL), -EINVAL);
		}
	}
}

static void test_pool_ranges(void **state)
{
	(void)state;
	assert_true(validate_pool_range(0, 1, 1));
	assert_true(validate_pool_range(0, POOL, POOL));
	assert_true(validate_pool_range(POOL - 1, 1, POOL));
	assert_false(validate_pool_range(0, 0, POOL));
	assert_false(validate_pool_range(POOL, 1, POOL));
	assert_false(validate_pool_range(POOL - 1, 2, POOL));
	assert_false(validate_pool_range(0, POOL + 1, POOL));
	assert_false(validate_pool_range(UINT32_MAX, 1, POOL));
	assert_false(validate_pool_range(UINT32_MAX, 2, POOL));
	assert_false(validate_pool_range(1, UINT32_MAX, POOL));
	assert_false(validate_pool_range(1, UINT32_MAX, UINT32_MAX));
}

static int read_of(uint64_t offset, uint32_t length, uint32_t pages)
{
	struct vread_request r = good(VREAD_OP_READ);

	r.u.read.offset = offset;
	r.u.read.length = length;
	r.pool_pages = pages;
	return validate_request(&r, 2000);
}

static void test_read_limits(void **state)
{
	(void)state;
	assert_int_equal(read_of(0, 4096, 1), 0);
	assert_int_equal(read_of(0, 4097, 1), -EINVAL);
	assert_int_equal(read_of(0, 4097, 2), 0);
	assert_int_equal(read_of(0, 0, 1), -EINVAL);
	assert_int_equal(read_of(0, VREAD_MAX_READ, 1024), 0);
	assert_int_equal(read_of(0, VREAD_MAX_READ + 1, 1025), -EINVAL);
	assert_int_equal(read_of(0, UINT32_MAX, 2000), -EINVAL);
	assert_int_equal(read_of(UINT64_MAX - 1, 1, 1), 0);
	assert_int_equal(read_of(UINT64_MAX, 1, 1), -EINVAL);
	assert_int_equal(read_of(UINT64_MAX - 4095, 4096, 1), -EINVAL);
}

static void test_data_length_limits(void **state)
{
	struct vread_request r = good(VREAD_OP_OPEN);

	(void)state;
	r.pool_pages = 5;
	r.u.open.data_length = VREAD_MAX_OPEN_DATA;
	assert_int_equal(validate_request(&r, POOL), 0);
	r.u.open.data_length = VREAD_MAX_OPEN_DATA + 1;
	assert_int_equal(validate_request(&r, POOL), -EINVAL);
	r.u.open.data_length = 7;
	assert_int_equal(validate_request(&r, POOL), -EINVAL);
	r.u.open.data_length = 4097;
	r.pool_pages = 1;
	assert_int_equal(validate_request(&r, POOL), -EINVAL);
}

static void test_publish_events(void **state)
{
	(void)state;
	for (uint32_t event = 0; event < 7; event++) {
		struct vread_request r = good(VREAD_OP_PUBLISH);

		r.u.publish.event = event;
		assert_int_equal(validate_request(&r, POOL),
				 event >= 1 && event <= 4 ? 0 : -EINVAL);
	}
}

static void test_keys(void **state)
{
	(void)state;
	for (uint32_t tokens = 0; tokens < 4; tokens++) {
		struct vread_request r = good(VREAD_OP_KEYS);

		r.u.keys.tokens = tokens;
		assert_int_equal(validate_request(&r, POOL), tokens <= 1 ? 0 : -EINVAL);
	}
}

/* ---- open_data ------------------------------------------------------------------- */

static size_t build(uint8_t *raw, const char *pool, const char *storage, const char *token)
{
	struct vread_open_data header = {(uint16_t)strlen(pool), storage ? 1 : 0,
					 (uint16_t)strlen(token), 0};
	uint8_t *p = raw;

	memcpy(p, &header, sizeof(header));
	p = mempcpy(p + sizeof(header), pool, strlen(pool));
	if (storage) {
		*p++ = (uint8_t)strlen(storage);
		p = mempcpy(p, storage, strlen(storage));
	}
	p = mempcpy(p, token, strlen(token));
	return (size_t)(p - raw);
}

static void test_open_data(void **state)
{
	struct open_data *d = calloc(1, sizeof(*d));
	uint8_t raw[128];
	size_t length = build(raw, "BP-1", "DS-1", "secret");

	(void)state;
	assert_int_equal(open_data_parse(raw, length, d), 0);
	assert_string_equal(d->pool_id, "BP-1");
	assert_int_equal(d->num_storages, 1);
	assert_string_equal(d->storage_ids[0], "DS-1");
	assert_int_equal(d->token_length, 6);
	assert_memory_equal(d->token, "secret", 6);
	length = build(raw, "B", NULL, "");
	assert_int_equal(open_data_parse(raw, length, d), 0);
	assert_int_equal(d->num_storages, 0);
	assert_null(d->token);
	free(d);
}

/* Only the right length is accepted.  Copies on the heap show reads past their end. */
static void test_open_data_of_every_other_length(void **state)
{
	struct open_data *d = calloc(1, sizeof(*d));
	uint8_t raw[128];
	size_t length = build(raw, "BP-1", "DS-1", "t");

	(void)state;
	for (size_t n = 0; n < length + 8; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		memset(copy, 0, n ? n : 1);
		memcpy(copy, raw, n < length ? n : length);
		assert_int_equal(open_data_parse(copy, n, d), n == length ? 0 : -EINVAL);
		free(copy);
	}
	free(d);
}

/* No bytes make the parser read outside; AddressSanitizer checks this. */
static void test_open_data_of_noise(void **state)
{
	struct open_data *d = calloc(1, sizeof(*d));
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t n = (size_t)rand_r(&seed) % 200;
		uint8_t *raw = malloc(n + 1);

		for (size_t i = 0; i < n; i++)
			raw[i] = i < 8 && i % 2 ? 0 : (uint8_t)rand_r(&seed) & 0x3f;
		if (open_data_parse(raw, n, d) == 0)
			assert_in_range(strlen(d->pool_id), 1, n);
		free(raw);
	}
	free(d);
}

static void test_open_data_names(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "a b", "a\n", "\x7f", "\xff"};
	struct open_data *d = calloc(1, sizeof(*d));
	uint8_t raw[512];
	char name[258];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t length = build(raw, bad[i], NULL, "");

		assert_int_equal(open_data_parse(raw, length, d), -EINVAL);
		length = build(raw, "BP-1", bad[i], "");
		assert_int_equal(open_data_parse(raw, length, d), -EINVAL);
	}
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	assert_int_equal(open_data_parse(raw, build(raw, name, NULL, ""), d), 0);
	name[255] = 'a';
	name[256] = '\0';
	assert_int_equal(open_data_parse(raw, build(raw, name, NULL, ""), d), -EINVAL);
	name[127] = '\0';
	assert_int_equal(open_data_parse(raw, build(raw, "B", name, ""), d), 0);
	name[127] = 'a';
	name[128] = '\0';
	assert_int_equal(open_data_parse(raw, build(raw, "B", name, ""), d), -EINVAL);
	free(d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_requests),
		cmocka_unit_test(test_unknown_operations),
		cmocka_unit_test(test_every_unused_byte_must_be_zero),
		cmocka_unit_test(test_pool_ranges),
		cmocka_unit_test(test_read_limits),
		cmocka_unit_test(test_data_length_limits),
		cmocka_unit_test(test_publish_events),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_open_data),
		cmocka_unit_test(test_open_data_of_every_other_length),
		cmocka_unit_test(test_open_data_of_noise),
		cmocka_unit_test(test_open_data_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
