/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/wire/address.h: which addresses count as one source of connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "peer/wire/address.h"

static uint64_t source_of(const char *text)
{
	struct address a;

	assert_true(address_parse(text, &a));
	return address_source(&a);
}

static void test_ports_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(source_of("10.1.2.3:1"), source_of("10.1.2.3:65535"));
	assert_int_equal(source_of("[2001:db8::1]:1"), source_of("[2001:db8::1]:2"));
}

static void test_each_ipv4_address_counts(void **state)
{
	(void)state;
	assert_true(source_of("10.1.2.3:1") != source_of("10.1.2.4:1"));
	assert_true(source_of("10.1.2.3:1") != source_of("11.1.2.3:1"));
	/* A socket for IPv6 tells IPv4 addresses in this form. */
	assert_int_equal(source_of("10.1.2.3:1"), source_of("[::ffff:10.1.2.3]:1"));
	assert_true(source_of("[::ffff:10.1.2.3]:1") != source_of("[::ffff:10.1.2.4]:1"));
}

static void test_64_bits_of_ipv6_count(void **state)
{
	(void)state;
	assert_int_equal(source_of("[2001:db8:1:2::1]:1"), source_of("[2001:db8:1:2:ffff::2]:1"));
	assert_true(source_of("[2001:db8:1:2::1]:1") != source_of("[2001:db8:1:3::1]:1"));
}

static void test_no_address_is_no_source(void **state)
{
	struct address none = {.length = 0};

	(void)state;
	assert_int_equal(address_source(&none), 0);
	assert_true(source_of("0.0.0.0:1") != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_do_not_count),
		cmocka_unit_test(test_each_ipv4_address_counts),
		cmocka_unit_test(test_64_bits_of_ipv6_count),
		cmocka_unit_test(test_no_address_is_no_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
