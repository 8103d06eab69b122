// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests ext4_inline_find(): finds a small file's bytes in its inode, whatever the guest wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "parser/fs/ext4.h"

#define INODE 256U
#define EXTRA 32U
#define FIRST (128U + EXTRA + 4U) /* entry */

/* The inode is on the heap with its exact size, so that the sanitizer sees reads past its end. */
static uint8_t *inode_new(uint16_t extra)
{
	uint8_t *inode = calloc(1, INODE);
	uint16_t e = htole16(extra);
	uint32_t magic = htole32(EXT2_EXT_ATTR_MAGIC);

	assert_non_null(inode);
	for (unsigned i = 0; i < 60; i++)
		inode[40 + i] = (uint8_t)i;
	memcpy(inode + 128, &e, 2);
	if (128U + extra + 4U <= INODE)
		memcpy(inode + 128 + extra, &magic, 4);
	return inode;
}

/* Returns the offset of the next entry. */
static size_t add_entry(uint8_t *inode, size_t at, uint8_t index, const char *name, uint16_t value,
			uint32_t length)
{
	struct ext2_ext_attr_entry e = {
		.e_name_len = (uint8_t)strlen(name),
		.e_name_index = index,
		.e_value_offs = htole16(value),
		.e_value_size = htole32(length),
	};

	memcpy(inode + at, &e, sizeof(e));
	memcpy(inode + at + sizeof(e), name, strlen(name));
	return at + sizeof(e) + ((strlen(name) + 3) & ~(size_t)3);
}

static bool find(uint8_t *inode, struct ext4_inline *ret)
{
	return ext4_inline_find(inode, INODE, ret);
}

static void test_found(void **state)
{
	uint8_t *inode = inode_new(EXTRA);
	struct ext4_inline d;
	size_t at = add_entry(inode, FIRST, 1, "longer-name", 80, 4);

	(void)state;
	at = add_entry(inode, at, 6, "data", 80, 3); /* of another kind */
	add_entry(inode, at, 7, "data", 84, 8);
	assert_true(find(inode, &d));
	assert_ptr_equal(d.head, inode + 40);
	assert_int_equal(d.head_length, 60);
	assert_ptr_equal(d.tail, inode + FIRST + 84);
	assert_int_equal(d.tail_length, 8);
	free(inode);
}

static void test_not_there(void **state)
{
	uint8_t *inode = inode_new(EXTRA);
	struct ext4_inline d;

	(void)state;
	assert_false(find(inode, &d)); /* no entry */
	add_entry(inode, FIRST, 7, "datum", 80, 8);
	assert_false(find(inode, &d));
	memset(inode + 128 + EXTRA, 0, 4); /* no header */
	add_entry(inode, FIRST, 7, "data", 80, 8);
	assert_false(find(inode, &d));
	assert_false(ext4_inline_find(inode, 128, &d)); /* no room behind the old fields */
	free(inode);
}

static void test_value_outside(void **state)
{
	const size_t room = INODE - FIRST;
	struct {
		size_t at, length;
		bool found;
	} cases[] = {
		{room - 8, 8, true},  {room - 8, 9, false},       {room, 0, true},
		{room + 1, 0, false}, {80, UINT32_MAX, false},    {65535, 1, false},
		{0, room, true},      {UINT16_MAX, 65535, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *inode = inode_new(EXTRA);
		struct ext4_inline d;

		add_entry(inode, FIRST, 7, "data", (uint16_t)cases[i].at,
			  (uint32_t)cases[i].length);
		assert_int_equal(find(inode, &d), cases[i].found);
		free(inode);
	}
}

static void test_value_in_another_inode(void **state)
{
	uint8_t *inode = inode_new(EXTRA);
	struct ext4_inline d;

	(void)state;
	add_entry(inode, FIRST, 7, "data", 80, 8);
	inode[FIRST + 4] = 1;
	assert_false(find(inode, &d));
	free(inode);
}

/* With headers and entries anywhere and names of any length, nothing outside is read. */
static void test_any_bytes(void **state)
{
	struct ext4_inline d;

	(void)state;
	for (unsigned extra = 0; extra < 200; extra++)
		for (unsigned length = 0; length < 256; length++) {
			uint8_t *inode = inode_new((uint16_t)extra);

			for (size_t at = 128U + extra + 4U; at + 2 < INODE; at += 20)
				inode[at] = (uint8_t)length;
			find(inode, &d);
			free(inode);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),         cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_value_outside), cmocka_unit_test(test_value_in_another_inode),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
