/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the plot of `xl-vread top`: which column has which rate, and what is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../tools/xl-vread/vreadd/top_plot.c"

static struct plot plot;

static int no_points(void **state)
{
	(void)state;
	memset(&plot, 0, sizeof(plot));
	return 0;
}

/* The plot must be `expected`, in which leading blanks are left out. */
static void expect(const char *expected, double highest)
{
	char *text = NULL, line[PLOT_COLUMNS + 1];
	size_t length;
	FILE *f = open_memstream(&text, &length);
	double found = plot_print(f, &plot, false);

	fclose(f);
	snprintf(line, sizeof(line), "%*s", PLOT_COLUMNS, expected);
	assert_string_equal(text, line);
	assert_true(found > highest - 0.001 && found < highest + 0.001);
	free(text);
}

static void test_nothing_is_known_without_two_points(void **state)
{
	(void)state;
	expect("", -1);
	plot_add(&plot, 1, 1000, 500);
	expect("", -1);
}

static void test_heights(void **state)
{
	int64_t total = 0;

	(void)state;
	plot_add(&plot, 1, 1000, total);
	for (int n = 0; n <= 7; n++) {
		total += n * 20;
		plot_add(&plot, 1, 1000 + 2 * (n + 1), total);
	}
	expect("_.:-=+*#", 70);
}

static void test_blocks(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	(void)state;
	plot_add(&plot, 1, 1000, 0);
	plot_add(&plot, 1, 1002, 0);
	plot_add(&plot, 1, 1004, 9);
	plot_print(f, &plot, true);
	fclose(f);
	assert_int_equal(length, PLOT_COLUMNS - 2 + strlen("▁█"));
	assert_string_equal(text + PLOT_COLUMNS - 2, "▁█");
	free(text);
}

static void test_a_rate_of_zero_only_is_lowest(void **state)
{
	(void)state;
	plot_add(&plot, 1, 1000, 7);
	plot_add(&plot, 1, 1004, 7);
	expect("__", 0);
	plot_add(&plot, 1, 1006, 8);
	plot_add(&plot, 1, 1008, 1000000);
	expect("__.#", 499996);
}

/* A round of 20 s fills ten columns, and ten rounds of 0.2 s are one column. */
static void test_rounds_of_other_lengths(void **state)
{
	(void)state;
	plot_add(&plot, 1, 1000, 0);
	plot_add(&plot, 1, 1020, 200);
	expect("##########", 10);
	for (int n = 1; n <= 10; n++)
		plot_add(&plot, 1, 1020 + n * 0.2, 200 + (n > 5 ? 35 : 0));
	expect("==========#", 17.5);
}

static void test_a_minute_is_kept(void **state)
{
	(void)state;
	for (int n = 0; n <= 10000; n++)
		plot_add(&plot, 1, 1000 + n * 0.1, n);
	assert_in_range(plot.count, 601, PLOT_POINTS);
	expect("##############################", 10);
	/* After a pause of two minutes only the pause is left. */
	plot_add(&plot, 1, 2120, 10000);
	expect("______________________________", 0);
}

static void test_rounds_shorter_than_allowed_lose_the_oldest(void **state)
{
	(void)state;
	for (int n = 0; n < 2 * PLOT_POINTS; n++)
		plot_add(&plot, 1, 1000 + n * 0.01, n);
	assert_int_equal(plot.count, PLOT_POINTS);
	expect("####", 100);
}

static void test_another_counter(void **state)
{
	(void)state;
	plot_add(&plot, 1, 1000, 10);
	plot_add(&plot, 1, 1002, 20);
	plot_add(&plot, 2, 1004, 30);
	expect("", -1);
	plot_add(&plot, 2, 1006, 40);
	expect("#", 5);
	plot_add(&plot, 2, 1008, 3);
	expect("", -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_is_known_without_two_points, no_points),
		cmocka_unit_test_setup(test_heights, no_points),
		cmocka_unit_test_setup(test_blocks, no_points),
		cmocka_unit_test_setup(test_a_rate_of_zero_only_is_lowest, no_points),
		cmocka_unit_test_setup(test_rounds_of_other_lengths, no_points),
		cmocka_unit_test_setup(test_a_minute_is_kept, no_points),
		cmocka_unit_test_setup(test_rounds_shorter_than_allowed_lose_the_oldest, no_points),
		cmocka_unit_test_setup(test_another_counter, no_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
