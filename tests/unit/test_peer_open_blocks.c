/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of open blocks: bounded, never used again soon, closed when the last one lets go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "read/block.h"
#include "peer/answering/open_blocks.h"

static char blocks[OPEN_BLOCKS_MAX + 1];
static unsigned closed;

/* In place of the library's: a block is an address here. */
void block_close(struct block_handle *h)
{
	closed += h != NULL;
}

static struct block_handle *block(unsigned i)
{
	return (struct block_handle *)&blocks[i];
}

static void bounded(void **state)
{
	struct open_blocks *b = open_blocks_new();
	uint32_t number, first = 0;

	(void)state;
	closed = 0;
	for (unsigned i = 0; i < OPEN_BLOCKS_MAX; i++) {
		assert_int_equal(open_blocks_add(b, block(i), &number), 0);
		first = i ? first : number;
	}
	assert_int_equal(open_blocks_add(b, block(OPEN_BLOCKS_MAX), &number), -EMFILE);
	assert_true(open_blocks_close(b, first));
	assert_int_equal(open_blocks_add(b, block(OPEN_BLOCKS_MAX), &number), 0);
	assert_int_not_equal(number, first);
	assert_null(open_blocks_get(b, first));
	assert_int_equal(open_blocks_count(b), OPEN_BLOCKS_MAX);
	open_blocks_free(b);
	assert_int_equal(closed, OPEN_BLOCKS_MAX + 1);
}

static void closed_by_the_last(void **state)
{
	struct open_blocks *b = open_blocks_new();
	uint32_t number;

	(void)state;
	closed = 0;
	assert_int_equal(open_blocks_add(b, block(0), &number), 0);
	assert_ptr_equal(open_blocks_get(b, number), block(0));
	assert_true(open_blocks_close(b, number));
	assert_false(open_blocks_close(b, number));
	assert_null(open_blocks_get(b, number));
	assert_int_equal(closed, 0);
	open_blocks_put(b, number);
	assert_int_equal(closed, 1);
	assert_null(open_blocks_get(b, 0));
	assert_false(open_blocks_close(b, UINT32_MAX));
	open_blocks_free(b);
	assert_int_equal(closed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounded),
		cmocka_unit_test(closed_by_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
