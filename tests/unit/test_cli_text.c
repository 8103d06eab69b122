/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests how lines are cut to the width of a terminal (tools/cli/text.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/cli/text.c"

/* Of s as a whole, `expected` must fit. */
static void expect(const char *s, unsigned columns, const char *expected)
{
	size_t found = text_fitting(s, strlen(s), columns);

	assert_int_equal(found, strlen(expected));
	assert_memory_equal(s, expected, found);
}

static void test_a_byte_is_a_column(void **state)
{
	(void)state;
	expect("", 0, "");
	expect("abc", 0, "");
	expect("abc", 2, "ab");
	expect("abc", 3, "abc");
	expect("abc", 80, "abc");
}

/* Characters of two, three and four bytes. */
static void test_a_character_is_a_column(void **state)
{
	(void)state;
	expect("\u00e4\u2588\U0001d11ez", 0, "");
	expect("\u00e4\u2588\U0001d11ez", 1, "\u00e4");
	expect("\u00e4\u2588\U0001d11ez", 2, "\u00e4\u2588");
	expect("\u00e4\u2588\U0001d11ez", 3, "\u00e4\u2588\U0001d11e");
	expect("\u00e4\u2588\U0001d11ez", 4, "\u00e4\u2588\U0001d11ez");
	expect("a\u2588", 1, "a");
}

/* A line of a longer text: what is behind its n bytes does not count. */
static void test_only_the_line_counts(void **state)
{
	(void)state;
	assert_int_equal(text_fitting("ab\ncd", 2, 4), 2);
	assert_int_equal(text_fitting("\u2588\n\u2588", 3, 1), 3);
}

/* A text that is no UTF-8, such as a name that somebody else chose, has an end all the same. */
static void test_bytes_without_a_first_one(void **state)
{
	(void)state;
	expect("\x80\x80\x80", 0, "\x80\x80\x80");
	expect("\xff\xff", 1, "\xff");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_byte_is_a_column),
		cmocka_unit_test(test_a_character_is_a_column),
		cmocka_unit_test(test_only_the_line_counts),
		cmocka_unit_test(test_bytes_without_a_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
