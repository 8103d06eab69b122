/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the checks of the guest's kernel module (linux-frontend/core/check.c) in user space:
 * numbers and lists from xenstore, READs of a process, responses of a backend; and the rule by
 * which processes share the pool.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../linux-frontend/core/check.c"

static void numbers(void **state)
{
	uint32_t n = 77;

	(void)state;
	assert_int_equal(vread_parse_number("0", 0, 4, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(vread_parse_number("4294967295", 0, UINT32_MAX, &n), 0);
	assert_int_equal(n, UINT32_MAX);
}

static void no_numbers(void **state)
{
	static const char *const bad[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "01",
					  "00",
					  "0x1",
					  "1,",
					  "1\n",
					  "a",
					  "4294967296",
					  "99999999999999999999999"};
	uint32_t n = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(vread_parse_number(bad[i], 0, UINT32_MAX, &n), -EINVAL);
	assert_int_equal(vread_parse_number("5", 0, 4, &n), -ERANGE);
	assert_int_equal(vread_parse_number("0", 1, 4, &n), -ERANGE);
	assert_int_equal(n, 77);
}

static void versions(void **state)
{
	(void)state;
	assert_true(vread_offers_version("1", 1));
	assert_true(vread_offers_version("2,1", 1));
	assert_true(vread_offers_version("3,2,1,0", 1));
	assert_false(vread_offers_version("", 1));
	assert_false(vread_offers_version("2", 1));
	assert_false(vread_offers_version("11", 1));
	assert_false(vread_offers_version("2,,1", 1));
	assert_false(vread_offers_version("2, 1", 1));
	assert_false(vread_offers_version("1x", 1));
	assert_false(vread_offers_version("2,", 1));
}

static void roles(void **state)
{
	(void)state;
	assert_string_equal(vread_parse_role("client"), "client");
	assert_string_equal(vread_parse_role("datanode"), "datanode");
	assert_null(vread_parse_role(""));
	assert_null(vread_parse_role("clientx"));
}

#define SLICE (1U << 20)

static int check(uint64_t offset, uint32_t length, uint32_t slice_offset)
{
	struct vread_ioc_read r = {.offset = offset,
				   .length = length,
				   .slice_offset = slice_offset};

	return vread_check_read(&r, SLICE);
}

static void reads(void **state)
{
	struct vread_ioc_read reserved = {.length = 1, .reserved = 1};
	struct vread_ioc_read longest = {.length = VREAD_MAX_READ};

	(void)state;
	assert_int_equal(check(0, 1, 0), 0);
	assert_int_equal(check(12345, SLICE, 0), 0);
	assert_int_equal(check(0, 1, SLICE - 4096), 0);
	assert_int_equal(check(UINT64_MAX - 1, 1, 0), 0);
	assert_int_equal(vread_check_read(&longest, VREAD_MAX_READ), 0);

	assert_int_equal(check(0, 0, 0), -EINVAL);
	assert_int_equal(check(0, VREAD_MAX_READ + 1, 0), -EINVAL);
	assert_int_equal(check(0, UINT32_MAX, 0), -EINVAL);
	assert_int_equal(check(0, 1, 1), -EINVAL);
	assert_int_equal(check(0, 1, SLICE), -EINVAL);
	assert_int_equal(check(0, SLICE, 4096), -EINVAL);
	assert_int_equal(check(0, 8192, UINT32_MAX - 4095), -EINVAL);
	assert_int_equal(check(UINT64_MAX, 1, 0), -EINVAL);
	assert_int_equal(vread_check_read(&reserved, SLICE), -EINVAL);
	assert_int_equal(vread_check_read(&longest, 0), -EINVAL);
}

static void events(void **state)
{
	const struct vread_ioc_publish good = {.event = VREAD_PUBLISH_APPEND, .data_length = 100};
	struct vread_ioc_publish p = good;

	(void)state;
	for (unsigned event = 0; event < 10; event++) {
		p.event = event;
		assert_int_equal(vread_check_publish(&p), event >= 1 && event <= 4 ? 0 : -EINVAL);
	}
	p.event = UINT32_MAX;
	assert_int_equal(vread_check_publish(&p), -EINVAL);
	p = good;
	p.data_length = sizeof(struct vread_open_data);
	assert_int_equal(vread_check_publish(&p), 0);
	p.data_length--;
	assert_int_equal(vread_check_publish(&p), -EINVAL);
	p.data_length = VREAD_MAX_OPEN_DATA;
	assert_int_equal(vread_check_publish(&p), 0);
	p.data_length++;
	assert_int_equal(vread_check_publish(&p), -EINVAL);
	p.data_length = UINT32_MAX;
	assert_int_equal(vread_check_publish(&p), -EINVAL);
	p = good;
	p.reserved = 1;
	assert_int_equal(vread_check_publish(&p), -EINVAL);
}

static void keys(void **state)
{
	const struct vread_ioc_keys good = {.tokens = 1, .data_length = VREAD_MAX_OPEN_DATA};
	struct vread_ioc_keys k = good;

	(void)state;
	assert_int_equal(vread_check_keys(&k), 0);
	k.tokens = 0;
	assert_int_equal(vread_check_keys(&k), 0);
	k.tokens = 2;
	assert_int_equal(vread_check_keys(&k), -EINVAL);
	k = good;
	k.data_length++;
	assert_int_equal(vread_check_keys(&k), -EINVAL);
	k.data_length = sizeof(struct vread_open_data) - 1;
	assert_int_equal(vread_check_keys(&k), -EINVAL);
	k = good;
	k.reserved = 1;
	assert_int_equal(vread_check_keys(&k), -EINVAL);
}

static void responses(void **state)
{
	struct vread_response good = {.operation = VREAD_OP_READ, .status = 100}, r;

	(void)state;
	assert_null(vread_check_response(&good, VREAD_OP_READ, 100));
	assert_non_null(vread_check_response(&good, VREAD_OP_READ, 99));
	assert_non_null(vread_check_response(&good, VREAD_OP_OPEN, 100));
	r = good;
	r.reserved = 1;
	assert_non_null(vread_check_response(&r, VREAD_OP_READ, 100));
	r = good;
	r.status = -EIO;
	assert_null(vread_check_response(&r, VREAD_OP_READ, 0));
	r.status = INT32_MIN;
	assert_null(vread_check_response(&r, VREAD_OP_READ, 0));
	r.status = INT32_MAX;
	assert_non_null(vread_check_response(&r, VREAD_OP_READ, VREAD_MAX_READ));
}

/* Every error of the protocol passes.  The kernel's private errors, and errors that only the
 * frontend may return, become EIO. */
static void errors(void **state)
{
	static const int listed[] = {EACCES,     EBADF,  EBADMSG, EBUSY,  EILSEQ, EINVAL,
				     EIO,        EMFILE, ENODATA, ENODEV, ENOENT, ENOMEM,
				     EOPNOTSUPP, ERANGE, EPERM,   EAGAIN, EEXIST, EDESTADDRREQ};
	static const int foreign[] = {ENOTCONN, ETIME, EINTR, EFAULT, 512, 513, 514, 516, 4095};

	(void)state;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		assert_int_equal(vread_check_error(-listed[i]), -listed[i]);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_int_equal(vread_check_error(-foreign[i]), -EIO);
	assert_int_equal(vread_check_error(INT32_MIN), -EIO);
}

/* The default pool (16 MiB, 64 control pages) keeps room for 48 small slices; no pool keeps more
 * than half of its room. */
static void room_for_small_slices(void **state)
{
	(void)state;
	assert_int_equal(vread_small_pages(4096 - 64), 56 * 32);
	assert_int_equal(vread_small_pages(32768 - 64), 56 * 32);
	assert_int_equal(vread_small_pages(3585), 56 * 32);
	assert_int_equal(vread_small_pages(3583), 1791);
	assert_int_equal(vread_small_pages(256 - 4), 126);
	assert_int_equal(vread_small_pages(VREAD_MIN_POOL_PAGES - 4), 6);
}

/* Takes units for a user as long as he may.  Returns how many he holds. */
static uint32_t take_all(struct vread_common *common, uint32_t own)
{
	while (vread_may_take(common, own, 1)) {
		common->holders += !own;
		common->held++;
		own++;
	}
	return own;
}

static void shares_of_users(void **state)
{
	struct vread_common common = {.capacity = 64, .reserve = 8};
	uint32_t first, second;

	(void)state;
	first = take_all(&common, 0);
	assert_int_equal(first, 56); /* alone, all but the reserve */
	assert_true(vread_may_take(&common, 0, 8));
	assert_false(vread_may_take(&common, 0, 9));
	second = take_all(&common, 0);
	assert_int_equal(second, 1); /* the first of the reserve */

	/* The first gives everything back, and both want as much as they can have. */
	common.held -= 30;
	first -= 30;
	second = take_all(&common, second);
	assert_int_equal(first, 26);
	assert_int_equal(second, 64 - 8 - 26);
	common.held -= 26;
	common.holders--;
	first = take_all(&common, 0);
	assert_int_equal(first, 64 - 8 - second);
	common.held = 0;
	common.holders = 0;
	first = 0;
	second = 0;
	for (unsigned n = 0; n < 64; n++) {
		if (vread_may_take(&common, first, 1)) {
			common.holders += !first;
			common.held++;
			first++;
		}
		if (vread_may_take(&common, second, 1)) {
			common.holders += !second;
			common.held++;
			second++;
		}
	}
	assert_int_equal(first, 28);
	assert_int_equal(second, 28);
	assert_true(vread_may_take(&common, 0, 1));

	/* A connection with fewer queues. */
	common.capacity = 32;
	assert_false(vread_may_take(&common, 0, 1));
	assert_false(vread_may_take(&common, first, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),         cmocka_unit_test(no_numbers),
		cmocka_unit_test(versions),        cmocka_unit_test(roles),
		cmocka_unit_test(reads),           cmocka_unit_test(keys),
		cmocka_unit_test(responses),       cmocka_unit_test(errors),
		cmocka_unit_test(events),          cmocka_unit_test(room_for_small_slices),
		cmocka_unit_test(shares_of_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
