/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests base/words.h: which words a list has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"

/* Looks in copies of exact size, the word without '\0': a sanitizer sees reads past their ends. */
static bool have(const char *list, const char *word)
{
	size_t size = strlen(list) + 1, length = strlen(word);
	char *words = malloc(size), *bytes = malloc(length ? length : 1);
	bool found;

	memcpy(words, list, size);
	memcpy(bytes, word, length);
	found = words_have(words, bytes, length);
	free(words);
	free(bytes);
	return found;
}

static void test_each_word(void **state)
{
	(void)state;
	assert_true(have("dn1", "dn1"));
	assert_true(have("dn1 dn22 x", "dn1"));
	assert_true(have("dn1 dn22 x", "dn22"));
	assert_true(have("dn1 dn22 x", "x"));
	assert_false(have("dn1 dn22 x", "y"));
}

static void test_a_part_is_no_word(void **state)
{
	(void)state;
	assert_false(have("dn22", "dn2"));
	assert_false(have("dn22", "n22"));
	assert_false(have("dn22", "dn222"));
	assert_false(have("dn1 dn2", "dn1 dn2"));
	assert_false(have("dn1 dn2", "dn1 "));
	assert_false(have("dn1 dn2", " dn2"));
	assert_true(have("dn22 dn2", "dn2"));
}

static void test_the_word_ends_with_its_length(void **state)
{
	static const char text[] = "DS-1 DS-2";

	(void)state;
	assert_true(words_have("DS-1", text, 4));
	assert_false(words_have("DS-1", text, 3));
	assert_false(words_have("DS-1", text, 5));
	assert_true(words_have("DS-2", text + 5, 4));
}

static void test_more_spaces_than_one(void **state)
{
	(void)state;
	assert_true(have(" DS-1", "DS-1"));
	assert_true(have("DS-1  DS-2 ", "DS-2"));
	assert_true(have("   DS-1   DS-2   ", "DS-1"));
}

static void test_no_words(void **state)
{
	(void)state;
	assert_false(have("", "dn1"));
	assert_false(have(" ", "dn1"));
	assert_false(have("  ", " "));
}

static void test_the_empty_word_is_in_no_list(void **state)
{
	(void)state;
	assert_false(have("", ""));
	assert_false(have(" ", ""));
	assert_false(have("dn1  dn2", ""));
}

static void test_only_spaces_separate(void **state)
{
	(void)state;
	assert_false(have("dn1\tdn2", "dn1"));
	assert_false(have("dn1,dn2", "dn1"));
	assert_true(have("dn1\tdn2", "dn1\tdn2"));
}

static void test_bytes_are_compared(void **state)
{
	(void)state;
	assert_false(have("DN1", "dn1"));
	assert_false(have("*", "dn1"));
	assert_false(have("dn1", "*"));
	assert_true(have("* dn1", "*"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_word),
		cmocka_unit_test(test_a_part_is_no_word),
		cmocka_unit_test(test_the_word_ends_with_its_length),
		cmocka_unit_test(test_more_spaces_than_one),
		cmocka_unit_test(test_no_words),
		cmocka_unit_test(test_the_empty_word_is_in_no_list),
		cmocka_unit_test(test_only_spaces_separate),
		cmocka_unit_test(test_bytes_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
