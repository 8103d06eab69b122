// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests functions of parser/fs/ that need no disk: superblocks, extents, stamps. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "parser/fs/ext4.h"
#include "parser/fs/fs_impl.h"

#define LENGTH (64U << 20)

static struct ext2_super_block good_super(void)
{
	struct ext2_super_block sb = {0};

	sb.s_magic = htole16(EXT2_SUPER_MAGIC);
	sb.s_log_block_size = htole32(2);
	sb.s_blocks_count = htole32(LENGTH / 4096);
	sb.s_blocks_per_group = htole32(32768);
	sb.s_inodes_per_group = htole32(4096);
	sb.s_rev_level = htole32(EXT2_DYNAMIC_REV);
	sb.s_inode_size = htole16(256);
	sb.s_desc_size = htole16(64);
	sb.s_feature_incompat = htole32(EXT4_FEATURE_INCOMPAT_64BIT);
	sb.s_state = htole16(EXT2_VALID_FS);
	return sb;
}

static bool parse(const struct ext2_super_block *sb, struct ext4_super *ret)
{
	const char *reason = NULL;
	bool r = ext4_super_parse((const uint8_t *)sb, LENGTH, ret, &reason);

	assert_true(r || reason);
	return r;
}

static void super_is_parsed(void **state)
{
	struct ext2_super_block sb = good_super();
	struct ext4_super s;

	(void)state;
	assert_true(parse(&sb, &s));
	assert_int_equal(s.block_size, 4096);
	assert_int_equal(s.blocks, LENGTH / 4096);
	assert_int_equal(s.inode_size, 256);
	assert_int_equal(s.descriptor_bytes, 64);
	assert_int_equal(s.state, FS_CLEAN);
}

static void assert_state(const struct ext2_super_block *sb, enum fs_state expected)
{
	struct ext4_super s;

	assert_true(parse(sb, &s));
	assert_int_equal(s.state, expected);
	assert_int_equal(s.refusal != NULL, expected == FS_REFUSED);
}

static struct ext2_super_block mounted_super(void)
{
	struct ext2_super_block sb = good_super();

	sb.s_feature_compat = htole32(EXT3_FEATURE_COMPAT_HAS_JOURNAL);
	sb.s_feature_incompat |= htole32(EXT3_FEATURE_INCOMPAT_RECOVER);
	sb.s_journal_inum = htole32(8);
	return sb;
}

static void states(void **state)
{
	struct ext2_super_block sb = good_super();

	(void)state;
	assert_state(&sb, FS_CLEAN);
	sb.s_state = 0;
	assert_state(&sb, FS_REFUSED); /* no journal to read */
	sb.s_state = htole16(EXT2_VALID_FS | EXT2_ERROR_FS);
	assert_state(&sb, FS_REFUSED);

	sb = mounted_super();
	assert_state(&sb, FS_LIVE);
	sb.s_state |= htole16(EXT2_ERROR_FS);
	assert_state(&sb, FS_REFUSED);
	sb = mounted_super();
	sb.s_feature_compat = 0;
	assert_state(&sb, FS_REFUSED);
	sb = mounted_super();
	sb.s_journal_inum = 0;
	assert_state(&sb, FS_REFUSED);
	sb = mounted_super();
	sb.s_journal_dev = htole32(0x801);
	assert_state(&sb, FS_REFUSED);
	sb = mounted_super();
	sb.s_feature_incompat &= ~htole32(EXT3_FEATURE_INCOMPAT_RECOVER);
	sb.s_state = 0;
	assert_state(&sb, FS_REFUSED);
}

/* Freed blocks are reused before the change is committed, too early for a reader. */
static void writeback_is_refused(void **state)
{
	struct ext2_super_block sb = mounted_super();

	(void)state;
	sb.s_default_mount_opts = htole32(EXT3_DEFM_JMODE_ORDERED);
	assert_state(&sb, FS_LIVE);
	sb.s_default_mount_opts = htole32(EXT3_DEFM_JMODE_WBACK);
	assert_state(&sb, FS_REFUSED);
	sb = mounted_super();
	memcpy(sb.s_mount_opts, "noatime,data=writeback", 22);
	assert_state(&sb, FS_REFUSED);
}

#define REFUSED(field, value)                              \
	do {                                               \
		struct ext2_super_block sb = good_super(); \
		struct ext4_super s;                       \
                                                           \
		sb.field = value;                          \
		if (parse(&sb, &s))                        \
			fail_msg(#field " = " #value);     \
	} while (0)

static void super_is_refused(void **state)
{
	(void)state;
	REFUSED(s_magic, 0);
	REFUSED(s_log_block_size, htole32(7));
	REFUSED(s_log_block_size, 0xffffffff);
	REFUSED(s_blocks_count, 0);
	REFUSED(s_blocks_count, htole32(LENGTH / 4096 + 1));
	REFUSED(s_blocks_count_hi, htole32(1));
	REFUSED(s_blocks_count_hi, 0xffffffff);
	REFUSED(s_first_data_block, 0xffffffff);
	REFUSED(s_inode_size, htole16(64));
	REFUSED(s_inode_size, htole16(8192));
	REFUSED(s_inode_size, htole16(384));
	REFUSED(s_blocks_per_group, 0);
	REFUSED(s_inodes_per_group, 0);
	REFUSED(s_desc_size, 0);
	REFUSED(s_desc_size, 0xffff);
}

/* A large disk with few blocks per group: its descriptors would fill the memory. */
static void descriptors_are_bounded(void **state)
{
	struct ext2_super_block sb = good_super();
	struct ext4_super s;
	const char *reason;

	(void)state;
	sb.s_blocks_per_group = htole32(8);
	sb.s_blocks_count = 0xffffffff;
	assert_false(ext4_super_parse((const uint8_t *)&sb, UINT64_MAX, &s, &reason));
}

static void extents_are_checked(void **state)
{
	struct fs fs = {.length = 1 << 20};
	struct fs_file f = {0};

	(void)state;
	assert_int_equal(fs_file_add_extent(&fs, &f, 0, 4096, 4096), 0);
	assert_int_equal(fs_file_add_extent(&fs, &f, 4096, 8192, 4096), 0);
	assert_int_equal(f.num_extents, 1); /* neighbours are merged */
	assert_int_equal(f.extents[0].physical, 4096);
	assert_int_equal(f.extents[0].length, 8192);
	assert_int_equal(fs_file_add_extent(&fs, &f, 8192, 0, 4096), 0);
	assert_int_equal(fs_file_add_extent(&fs, &f, 16384, 65536, 4096), 0);
	assert_int_equal(f.num_extents, 3);
	assert_int_equal(fs_file_add_extent(&fs, &f, 16384, 0, 4096), -EIO);       /* overlaps */
	assert_int_equal(fs_file_add_extent(&fs, &f, 0, 0, 4096), -EIO);           /* descends */
	assert_int_equal(fs_file_add_extent(&fs, &f, 20480, 0, 0), -EIO);          /* empty */
	assert_int_equal(fs_file_add_extent(&fs, &f, 20480, 1 << 20, 1), -EIO);    /* outside */
	assert_int_equal(fs_file_add_extent(&fs, &f, 20480, 4096, 1 << 20), -EIO); /* end outside */
	assert_int_equal(fs_file_add_extent(&fs, &f, 20480, UINT64_MAX, 2), -EIO);
	assert_int_equal(fs_file_add_extent(&fs, &f, UINT64_MAX, 0, 2), -EIO);
	assert_int_equal(f.num_extents, 3);
	fs_file_clear(&f);
}

static void extents_are_limited(void **state)
{
	struct fs fs = {.length = UINT64_MAX};
	struct fs_file f = {0};

	(void)state;
	for (uint64_t i = 0; i < FS_MAX_EXTENTS; i++)
		assert_int_equal(fs_file_add_extent(&fs, &f, i * 4096, i * 8192, 4096), 0);
	assert_int_equal(fs_file_add_extent(&fs, &f, 1ULL << 60, 0, 4096), -EIO);
	fs_file_clear(&f);
}

static void assert_piece(const struct fs_file *f, uint64_t offset, uint64_t end, uint64_t physical,
			 uint64_t length)
{
	struct fs_extent piece = fs_file_piece(f, offset, end);

	assert_int_equal(piece.logical, offset);
	assert_int_equal(piece.physical, physical);
	assert_int_equal(piece.length, length);
}

static void pieces_and_holes(void **state)
{
	struct fs fs = {.length = 1 << 20};
	struct fs_file f = {.size = 40960};

	(void)state;
	assert_piece(&f, 0, 40960, FS_HOLE, 40960);
	assert_true(fs_file_first_hole(&f, 40959, 40960) < 40960);
	assert_int_equal(fs_file_add_extent(&fs, &f, 4096, 65536, 8192), 0);
	assert_int_equal(fs_file_add_extent(&fs, &f, 12288, 131072, 4096), 0);
	assert_int_equal(fs_file_add_extent(&fs, &f, 32768, 16384, 4096), 0);
	assert_piece(&f, 0, 40960, FS_HOLE, 4096);
	assert_piece(&f, 10, 20, FS_HOLE, 10);
	assert_piece(&f, 4096, 40960, 65536, 8192);
	assert_piece(&f, 5000, 6000, 65536 + 904, 1000);
	assert_piece(&f, 12287, 40960, 65536 + 8191, 1);
	assert_piece(&f, 12288, 40960, 131072, 4096);
	assert_piece(&f, 16384, 40960, FS_HOLE, 16384);
	assert_piece(&f, 36864, 40960, FS_HOLE, 4096);
	assert_int_equal(fs_file_first_hole(&f, 4096, 16384), 16384);
	assert_int_equal(fs_file_first_hole(&f, 5, 5), 5);
	assert_true(fs_file_first_hole(&f, 4095, 4097) < 4097);
	assert_true(fs_file_first_hole(&f, 4096, 16385) < 16385);
	assert_int_equal(fs_file_first_hole(&f, 32768, 36864), 36864);
	fs_file_clear(&f);
}

static void stamps(void **state)
{
	static struct fs_stamp a, b;

	(void)state;
	assert_true(fs_stamp_equal(&a, &b));
	b.super[0x34] = 1; /* mount count */
	assert_false(fs_stamp_equal(&a, &b));
	b = a;
	b.super[FS_SUPER_BYTES - 1] = 1;
	assert_false(fs_stamp_equal(&a, &b));
	b = a;
	b.changes = 1;
	assert_false(fs_stamp_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(super_is_parsed),
		cmocka_unit_test(states),
		cmocka_unit_test(writeback_is_refused),
		cmocka_unit_test(super_is_refused),
		cmocka_unit_test(descriptors_are_bounded),
		cmocka_unit_test(extents_are_checked),
		cmocka_unit_test(extents_are_limited),
		cmocka_unit_test(pieces_and_holes),
		cmocka_unit_test(stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
