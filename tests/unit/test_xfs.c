// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests the reader of XFS superblocks and logs with logs made by hand: whole, torn, wrapped,
 * interleaved and hostile logs, and how the log's content is laid over the blocks on disk.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_checkpoint.h"
#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_item.h"
#include "parser/fs/xfs_log.h"

#define BLOCK 4096U
#define GROUP_BLOCKS 512U
#define LENGTH (GROUP_BLOCKS * BLOCK * 2)
#define LOG_BLOCK 64U
#define LOG_BLOCKS 256U
#define LOG_SECTORS (LOG_BLOCKS * BLOCK / 512)
#define INODE 200U /* in block 25 */
#define CLIENT 0x69

static uint8_t disk[LENGTH];
static struct fs fs;
static struct xfs_super super;
static struct xfs_place head, tail, previous;
static uint8_t payload[8192];
static size_t payload_length;
static uint32_t operations;

/* ---- the disk ---- */

int volume_read(struct volume *v, uint64_t offset, void *buf, size_t n)
{
	(void)v;
	assert_true(offset + n <= sizeof(disk));
	memcpy(buf, disk + offset, n);
	return 0;
}

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static void seal(uint8_t *data, size_t length, size_t sum_at)
{
	uint32_t sum;

	memset(data + sum_at, 0, 4);
	sum = htole32(~xfs_sum_add(XFS_SUM_SEED, data, length));
	memcpy(data + sum_at, &sum, sizeof(sum));
}

static void seal_super(void)
{
	seal(disk, 512, 224);
}

static void make_super(void)
{
	memset(disk, 0, sizeof(disk));
	put32(disk, 0x58465342);
	put32(disk + 4, BLOCK);
	memset(disk + 32, 0xab, 16);
	put64(disk + 48, LOG_BLOCK);
	put64(disk + 56, INODE);
	put32(disk + 84, GROUP_BLOCKS);
	put32(disk + 96, LOG_BLOCKS);
	put16(disk + 100, 0xb4a5);
	put16(disk + 102, 512);
	put16(disk + 104, 512);
	disk[120] = 12;
	disk[122] = 9;
	disk[123] = 3;
	disk[124] = 9;
	put32(disk + 216, 1);
	seal_super();
}

static int parse(void)
{
	const char *reason = NULL;
	int r = xfs_super_parse(disk, 512, LENGTH, &super, &reason);

	assert_true(r == 0 || reason);
	return r;
}

/* ---- the log ---- */

static void operation(uint32_t id, uint8_t flags, const void *data, uint32_t length)
{
	uint8_t *at = payload + payload_length;

	put32(at, id);
	put32(at + 4, length);
	at[8] = CLIENT;
	at[9] = flags;
	put16(at + 10, 0);
	if (length)
		memcpy(at + 12, data, length);
	payload_length += 12 + length;
	operations++;
}

static void begin(uint32_t id)
{
	uint32_t header[4] = {htole32(0x5452414e), htole32(40), 0, 0};

	operation(id, 1, NULL, 0);
	operation(id, 0, header, sizeof(header));
}

static uint8_t *sector_at(struct xfs_place p)
{
	return disk + super.log_offset + (size_t)p.sector * 512;
}

/* Writes the collected operations as one record at head.  Returns where the record begins. */
static struct xfs_place flush(void)
{
	uint32_t sectors = ((uint32_t)payload_length + 511) / 512;
	struct xfs_place at = head;
	uint8_t record[512 + sizeof(payload)] = {0};
	uint32_t sum;

	put32(record, 0xfeedbabe);
	put32(record + 4, at.cycle);
	put32(record + 8, 2);
	put32(record + 12, sectors * 512);
	put32(record + 16, at.cycle);
	put32(record + 20, at.sector);
	put32(record + 24, tail.cycle);
	put32(record + 28, tail.sector);
	put32(record + 36, previous.sector);
	put32(record + 40, operations);
	put32(record + 300, 1);
	memcpy(record + 304, super.uuid, 16);
	put32(record + 320, 32768);
	memcpy(record + 512, payload, payload_length);
	for (uint32_t i = 0; i < sectors; i++) {
		memcpy(record + 44 + 4 * i, record + 512 * (i + 1), 4);
		put32(record + 512 * (i + 1), xfs_place_after(&super, at, i + 1).cycle);
	}
	sum = xfs_sum_add(XFS_SUM_SEED, record, 328);
	sum = htole32(~xfs_sum_add(sum, record + 512, sectors * 512));
	memcpy(record + 32, &sum, sizeof(sum));
	for (uint32_t i = 0; i <= sectors; i++)
		memcpy(sector_at(xfs_place_after(&super, at, i)), record + 512 * i, 512);
	head = xfs_place_after(&super, at, sectors + 1);
	previous = at;
	payload_length = operations = 0;
	memset(payload, 0, sizeof(payload));
	return at;
}

static void unmount_record(void)
{
	static const uint8_t magic[8] = {0x6e, 0x55};

	operation(1, 0x20, magic, sizeof(magic));
	tail = head;
	flush();
}

/* Makes a log that was written round once and then unmounted. */
static void make_log(void)
{
	make_super();
	assert_int_equal(parse(), 0);
	memset(fs.uuid, 0xab, sizeof(fs.uuid));
	fs.length = LENGTH;
	for (uint32_t i = 0; i < LOG_SECTORS; i++)
		put32(sector_at((struct xfs_place){6, i}), 6);
	head = (struct xfs_place){7, 0};
	payload_length = operations = 0;
	unmount_record();
}

static struct fs_watch watch;

static int set_up(void **state)
{
	(void)state;
	watch.count = 0;
	make_log();
	return 0;
}

/* Logs an inode of that size with one extent: all of the inode, or its core only. */
static void inode_item(uint32_t id, uint64_t size, bool with_extents)
{
	uint8_t format[56] = {0}, core[176] = {0}, extent[16];
	uint16_t type = htole16(0x123b), regions = htole16(with_extents ? 3 : 2);
	uint32_t fields = htole32(with_extents ? 5 : 1), extents = htole32(1);
	uint64_t number = htole64(INODE);
	uint16_t mode = htole16(S_IFREG | 0644);

	memcpy(format, &type, 2);
	memcpy(format + 2, &regions, 2);
	memcpy(format + 4, &fields, 4);
	memcpy(format + 16, &number, 8);
	core[0] = 0x4e;
	core[1] = 0x49;
	memcpy(core + 2, &mode, 2);
	core[4] = 3;
	core[5] = 2;
	size = htole64(size);
	memcpy(core + 56, &size, 8);
	memcpy(core + 76, &extents, 4);
	memcpy(core + 152, &number, 8);
	put64(extent, 0);
	put64(extent + 8, UINT64_C(300) << 21 | 1);
	operation(id, 0, format, sizeof(format));
	operation(id, 0, core, sizeof(core));
	if (with_extents)
		operation(id, 0, extent, sizeof(extent));
}

static void make_home_inode(uint64_t size)
{
	uint8_t *inode = disk + INODE * 512;

	memset(inode, 0, 512);
	put16(inode, 0x494e);
	put16(inode + 2, S_IFREG | 0644);
	inode[4] = 3;
	inode[5] = 2;
	put64(inode + 56, size);
	put32(inode + 76, 1);
	put64(inode + 152, INODE);
	memset(inode + 160, 0xab, 16);
	put64(inode + 176 + 8, UINT64_C(300) << 21 | 1);
	seal(inode, 512, 100);
}

/* ---- superblocks ---- */

static void super_is_parsed(void **state)
{
	uint64_t offset;

	(void)state;
	assert_int_equal(super.block_size, BLOCK);
	assert_int_equal(super.log_offset, LOG_BLOCK * BLOCK);
	assert_int_equal(super.log_sectors, LOG_SECTORS);
	assert_true(xfs_super_inode(&super, INODE, &offset));
	assert_int_equal(offset, INODE * 512);
	assert_true(xfs_super_block(&super, GROUP_BLOCKS, &offset));
	assert_false(xfs_super_block(&super, 2 * GROUP_BLOCKS, &offset));
	assert_false(xfs_super_block(&super, UINT64_MAX, &offset));
	assert_false(xfs_super_inode(&super, UINT64_MAX >> 1, &offset));
}

static void assert_super_refused(size_t at, size_t bytes, uint64_t value, int expected)
{
	uint8_t raw[8];

	make_super();
	put64(raw, value);
	memcpy(disk + at, raw + 8 - bytes, bytes);
	seal_super();
	assert_int_equal(parse(), expected);
}

static void hostile_super_is_refused(void **state)
{
	(void)state;
	assert_super_refused(0, 4, 1, -EIO);
	assert_super_refused(4, 4, 0, -EIO);
	assert_super_refused(4, 4, 512, -EIO);
	assert_super_refused(48, 8, 0, -EOPNOTSUPP);
	assert_super_refused(48, 8, 1023, -EIO);
	assert_super_refused(48, 8, UINT64_MAX, -EIO);
	assert_super_refused(84, 4, 0, -EIO);
	assert_super_refused(84, 4, 513, -EIO);
	assert_super_refused(96, 4, UINT32_MAX, -EIO);
	assert_super_refused(96, 4, 1, -EIO);
	assert_super_refused(100, 2, 0xb4a4, -EOPNOTSUPP);
	assert_super_refused(102, 2, 513, -EIO);
	assert_super_refused(104, 2, 128, -EIO);
	assert_super_refused(120, 1, 200, -EIO);
	assert_super_refused(123, 1, 30, -EIO);
	assert_super_refused(124, 1, 63, -EIO);
	assert_super_refused(126, 1, 1, -EIO);
	assert_super_refused(192, 1, 7, -EIO);
	assert_super_refused(216, 4, 0x11, -EOPNOTSUPP);
	assert_super_refused(216, 4, 0x101, -EOPNOTSUPP);
	assert_super_refused(220, 4, 2, -EOPNOTSUPP);
	make_super();
	disk[84] ^= 1;
	assert_int_equal(parse(), -EIO);
}

/* ---- records ---- */

static int read_record(struct xfs_place at, struct xfs_record *ret)
{
	static uint8_t data[XFS_RECORD_MAX_BYTES];

	return xfs_record_read(&fs, &super, at, data, ret);
}

static void record_is_read(void **state)
{
	static const uint8_t filler[3000];
	struct xfs_record r;
	struct xfs_place at;

	(void)state;
	begin(9);
	operation(9, 0, filler, sizeof(filler));
	assert_int_equal(read_record(head, &r), XFS_FOUND_NOTHING);
	at = flush();
	assert_int_equal(read_record(at, &r), XFS_FOUND_RECORD);
	assert_int_equal(r.operations, 3);
	assert_true(xfs_place_equal(r.next, head));
	assert_true(xfs_place_equal(r.tail, tail));
}

static void torn_record_is_not_there_yet(void **state)
{
	static const uint8_t filler[3000];
	struct xfs_record r;
	struct xfs_place at, third;

	(void)state;
	begin(9);
	operation(9, 0, filler, sizeof(filler));
	at = flush();
	third = xfs_place_after(&super, at, 3);
	put32(sector_at(third), 6);
	assert_int_equal(read_record(at, &r), XFS_FOUND_NOTHING);
	/* All sectors are of this round, but the sum is wrong: the record may be there or not. */
	put32(sector_at(third), 7);
	sector_at(third)[100] ^= 1;
	assert_int_equal(read_record(at, &r), -EAGAIN);
	put32(sector_at(third), 8);
	assert_int_equal(read_record(at, &r), XFS_FOUND_LATER);
	put32(sector_at(at) + 4, 8);
	assert_int_equal(read_record(at, &r), XFS_FOUND_LATER);
}

static void record_goes_round_the_end(void **state)
{
	static const uint8_t filler[3000];
	struct xfs_record r;
	struct xfs_place at;

	(void)state;
	head.sector = LOG_SECTORS - 3;
	begin(9);
	operation(9, 0, filler, sizeof(filler));
	at = flush();
	assert_int_equal(head.cycle, 8);
	assert_int_equal(read_record(at, &r), XFS_FOUND_RECORD);
	assert_true(xfs_place_equal(r.next, head));
}

static void hostile_records_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lies[] = {{8, 1},   {12, 0},           {12, UINT32_MAX}, {12, 32769},      {16, 6},
		    {20, 77}, {24, 8},           {28, UINT32_MAX}, {40, UINT32_MAX}, {300, 2},
		    {304, 0}, {320, UINT32_MAX}, {320, 0}};
	struct xfs_record r;
	struct xfs_place at;
	uint8_t kept[512];

	(void)state;
	begin(9);
	operation(9, 2, NULL, 0);
	at = flush();
	memcpy(kept, sector_at(at), sizeof(kept));
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		put32(sector_at(at) + lies[i].at, lies[i].value);
		assert_int_not_equal(read_record(at, &r), XFS_FOUND_RECORD);
		memcpy(sector_at(at), kept, sizeof(kept));
	}
	assert_int_equal(read_record(at, &r), XFS_FOUND_RECORD);
}

/* ---- following ---- */

static struct xfs_log *watched;
static struct xfs_now last_seen;

/* True if bytes are watched and all of them are unchanged. */
static bool nothing_happened(void)
{
	bool same = watch.count > 0;

	for (unsigned i = 0; i < watch.count; i++)
		same &= !memcmp(disk + watch.piece[i].offset, watch.piece[i].bytes,
				watch.piece[i].length);
	return same;
}

/* While the watched bytes are the same, a refresh must find nothing new, whatever the log holds. */
static struct xfs_now refresh(struct xfs_log *l)
{
	bool same = l == watched && nothing_happened();
	struct xfs_now now;
	const char *reason;

	watch.count = 0;
	assert_int_equal(xfs_log_refresh(l, &fs, &now, &watch, &reason), 0);
	if (same) {
		assert_int_equal(now.mark.id, last_seen.mark.id);
		assert_int_equal(now.mark.era, last_seen.mark.era);
	}
	assert_true(!now.idle || watch.count == 0);
	assert_true(watch.count == 0 || nothing_happened());
	watched = l;
	last_seen = now;
	return now;
}

static uint64_t size_read(struct xfs_log *l)
{
	struct meta_block *m;
	uint64_t size;

	assert_int_equal(xfs_log_read(l, &fs, &super, XFS_KEY_INODE | INODE, &m), 0);
	assert_int_not_equal(xfs_origin(&super, m), XFS_DAMAGED);
	size = xfs_get64(m->data + 56);
	assert_int_equal(xfs_get64(m->data + 184), UINT64_C(300) << 21 | 1);
	meta_block_put(m);
	return size;
}

static bool unchanged(struct xfs_log *l, const struct xfs_now *since)
{
	const uint64_t key = XFS_KEY_INODE | INODE;

	return xfs_log_unchanged(l, &since->mark, &key, 1);
}

static void committed_is_seen_and_nothing_else(void **state)
{
	struct xfs_log *l = xfs_log_new();
	struct xfs_now idle, before, now;

	(void)state;
	make_home_inode(1);
	idle = refresh(l);
	assert_true(idle.idle);
	assert_int_equal(size_read(l), 1);
	begin(9);
	inode_item(9, 2, true);
	flush();
	assert_true(refresh(l).idle); /* not committed */
	assert_int_equal(size_read(l), 1);
	operation(9, 2, NULL, 0);
	flush();
	before = refresh(l);
	assert_false(before.idle);
	assert_int_not_equal(before.mark.era, idle.mark.era);
	assert_false(unchanged(l, &idle));
	assert_true(unchanged(l, &before));
	assert_int_equal(size_read(l), 2);
	begin(10);
	begin(11); /* interleaved */
	inode_item(11, 4, false);
	inode_item(10, 3, true);
	operation(10, 2, NULL, 0);
	flush();
	now = refresh(l);
	assert_int_equal(now.mark.era, before.mark.era);
	assert_false(unchanged(l, &before));
	assert_true(unchanged(l, &now));
	assert_int_equal(size_read(l), 3);
	operation(11, 2, NULL, 0);
	flush();
	refresh(l);
	assert_int_equal(size_read(l), 4); /* the extents come from the inode on disk */
	xfs_log_free(l);
}

static void regions_go_on_in_the_next_record(void **state)
{
	struct xfs_log *l = xfs_log_new();
	uint8_t format[56] = {0}, core[176] = {0};

	(void)state;
	make_home_inode(1);
	refresh(l);
	begin(9);
	inode_item(9, 5, false);
	/* The last operation is the core: cut it in two. */
	memcpy(core, payload + payload_length - 176, 176);
	memcpy(format, payload + payload_length - 188 - 56, 56);
	payload_length -= 188;
	operations--;
	operation(9, 4, core, 100);
	flush();
	operation(9, 0x18, core + 100, 76);
	operation(9, 2, NULL, 0);
	flush();
	refresh(l);
	assert_int_equal(size_read(l), 5);
	xfs_log_free(l);
}

static void what_home_lacks_is_not_guessed(void **state)
{
	struct xfs_log *l = xfs_log_new();
	struct meta_block *m;

	(void)state;
	refresh(l);
	begin(9);
	inode_item(9, 2, false); /* its one extent is neither logged nor on disk */
	operation(9, 2, NULL, 0);
	flush();
	refresh(l);
	assert_int_equal(xfs_log_read(l, &fs, &super, XFS_KEY_INODE | INODE, &m), -EAGAIN);
	xfs_log_free(l);
}

static void other_logs_begin_a_new_era(void **state)
{
	struct xfs_log *l = xfs_log_new();
	struct xfs_now before, now;

	(void)state;
	make_home_inode(1);
	begin(9);
	inode_item(9, 2, true);
	operation(9, 2, NULL, 0);
	flush();
	before = refresh(l);
	assert_true(nothing_happened());
	/* As after xfs_repair -L: only the blocks on disk count. */
	make_log();
	assert_false(nothing_happened());
	make_home_inode(7);
	now = refresh(l);
	assert_int_not_equal(now.mark.era, before.mark.era);
	assert_false(unchanged(l, &before));
	assert_int_equal(size_read(l), 7);
	/* The file system was repaired while it was not mounted. */
	before = now;
	put64(disk + 144, 99);
	seal_super();
	assert_int_not_equal(refresh(l).mark.era, before.mark.era);
	xfs_log_free(l);
}

static void begun_in_the_middle_of_a_checkpoint(void **state)
{
	struct xfs_log *l = xfs_log_new();

	(void)state;
	make_home_inode(1);
	begin(9);
	inode_item(9, 2, true);
	flush();
	begin(10);
	operation(10, 2, NULL, 0);
	tail = head; /* as if all blocks were written to their places */
	flush();
	operation(9, 2, NULL, 0);
	flush();
	refresh(l);
	assert_int_equal(size_read(l), 2);
	xfs_log_free(l);
}

/* A writer that commits, delays a commit, writes blocks to their places, is observed during a
 * write, unmounts, or does nothing. */
struct writer {
	uint64_t begun, committed; /* sizes of the inode */
	uint32_t id;               /* of the open checkpoint; 0: none */
	uint32_t next_id;
	bool idle;
};

static void write_items(struct writer *w, bool commit)
{
	if (!w->id) {
		w->id = w->next_id++;
		begin(w->id);
	}
	inode_item(w->id, ++w->begun, true);
	if (commit) {
		operation(w->id, 2, NULL, 0);
		w->committed = w->begun;
		w->id = 0;
		w->idle = false;
	}
}

static void write_home_and_unmount(struct writer *w)
{
	w->id = 0;
	make_home_inode(w->committed);
	unmount_record();
	w->idle = true;
}

/* Refreshes while a sector of the new record still has its old content: the header or another. */
static void flush_in_two(struct xfs_log *l, bool header_first)
{
	uint8_t before[512];
	struct xfs_place late = xfs_place_after(&super, head, header_first ? 1 : 0);
	uint8_t after[512];

	memcpy(before, sector_at(late), sizeof(before));
	flush();
	memcpy(after, sector_at(late), sizeof(after));
	memcpy(sector_at(late), before, sizeof(before));
	refresh(l);
	assert_true(!header_first || watch.count == 0);
	memcpy(sector_at(late), after, sizeof(after));
}

/* Returns the size that a new reader of the log finds. */
static uint64_t size_found_anew(void)
{
	struct xfs_log *l = xfs_log_new();
	struct xfs_now now;
	const char *reason;
	uint64_t size;

	assert_int_equal(xfs_log_refresh(l, &fs, &now, NULL, &reason), 0);
	size = size_read(l);
	xfs_log_free(l);
	return size;
}

static void one_step(struct xfs_log *l, struct writer *w, unsigned kind)
{
	bool could_tell = watch.count > 0;

	switch (kind) {
	case 0:
	case 1:
		write_items(w, true);
		flush();
		assert_false(nothing_happened());
		break;
	case 2:
		write_items(w, false);
		flush();
		assert_false(nothing_happened());
		break;
	case 3:
	case 4:
		write_items(w, kind == 3);
		flush_in_two(l, w->begun & 1);
		break;
	case 5: /* all is in place: the next record moves the log's tail */
		make_home_inode(w->committed);
		if (!w->id)
			tail = head;
		assert_int_equal(nothing_happened(), could_tell);
		break;
	case 6:
		write_home_and_unmount(w);
		assert_false(nothing_happened());
		break;
	default:
		assert_int_equal(nothing_happened(), could_tell);
	}
}

static void watched_bytes_tell_of_every_commit(void **state)
{
	struct xfs_log *l = xfs_log_new();
	struct writer w = {.begun = 1, .committed = 1, .next_id = 9, .idle = true};
	unsigned without_asking = 0;

	(void)state;
	srandom(1);
	make_home_inode(1);
	refresh(l);
	for (unsigned i = 0; i < 3000; i++) {
		one_step(l, &w, (unsigned)random() % 12);
		without_asking += nothing_happened();
		assert_int_equal(refresh(l).idle, w.idle);
		assert_int_equal(size_read(l), w.committed);
		assert_int_equal(size_found_anew(), w.committed);
	}
	assert_true(head.cycle > 7); /* the log wrapped */
	assert_true(without_asking > 1000);
	xfs_log_free(l);
}

static void hostile_items_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} lies[] = {{0, 0x99}, {1, 0}, {2, 0}, {2, 200}, {2, 1}, {4, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct xfs_log *l = xfs_log_new();
		struct xfs_now now;
		const char *reason = NULL;

		make_log();
		begin(9);
		inode_item(9, 2, false);
		payload[12 + 12 + 16 + 12 + lies[i].at] = lies[i].value;
		operation(9, 2, NULL, 0);
		flush();
		assert_int_equal(xfs_log_refresh(l, &fs, &now, NULL, &reason), -EBUSY);
		assert_non_null(reason);
		xfs_log_free(l);
	}
}

/* ---- buffers ---- */

static uint64_t last_key;
static uint8_t *last_item;
static uint32_t last_size;

static int keep_item(void *ctx, uint64_t key, uint8_t *item, uint32_t size)
{
	++*(unsigned *)ctx;
	free(last_item);
	last_key = key;
	last_item = item;
	last_size = size;
	return 0;
}

static int take_buffer(uint16_t flags, uint32_t map, const uint8_t *data, uint32_t length,
		       unsigned *ret_count)
{
	uint8_t format[28] = {0x3c, 0x12, (uint8_t)(length ? 2 : 1)};
	struct xfs_region regions[] = {{format, sizeof(format)}, {data, length}};
	bool owners = false;

	flags = htole16(flags);
	memcpy(format + 4, &flags, 2);
	format[6] = 16; /* two blocks */
	format[8] = 80; /* from block 10 */
	format[16] = 2;
	map = htole32(map);
	memcpy(format + 24, &map, 4); /* of the second block */
	*ret_count = 0;
	return xfs_item_take(&super, regions, length ? 2 : 1, &owners, keep_item, ret_count);
}

static void buffers_are_laid_over_blocks(void **state)
{
	uint8_t data[256], block[BLOCK] = {0};
	unsigned count;

	(void)state;
	memset(data, 0x5a, sizeof(data));
	assert_int_equal(take_buffer(11 << 11, 6, data, 256, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(last_key, 11);
	xfs_item_lay_on_block(&super, last_item, last_size, block);
	assert_int_equal(block[127], 0);
	assert_int_equal(block[128], 0x5a);
	assert_int_equal(block[383], 0x5a);
	assert_int_equal(block[384], 0);
	assert_int_equal(take_buffer(2, 0, NULL, 0, &count), 0); /* freed */
	assert_int_equal(count, 2);
	assert_null(last_item);
	/* More or less data than the map says; no map at all. */
	assert_int_equal(take_buffer(11 << 11, 2, data, 256, &count), -EOPNOTSUPP);
	assert_int_equal(take_buffer(11 << 11, 10, data, 128, &count), -EOPNOTSUPP);
	assert_int_equal(take_buffer(11 << 11, 6, data, 127, &count), -EOPNOTSUPP);
	assert_int_equal(take_buffer(11 << 11, 0, data, 128, &count), -EOPNOTSUPP);
	free(last_item);
	last_item = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(super_is_parsed, set_up),
		cmocka_unit_test_setup(hostile_super_is_refused, set_up),
		cmocka_unit_test_setup(record_is_read, set_up),
		cmocka_unit_test_setup(torn_record_is_not_there_yet, set_up),
		cmocka_unit_test_setup(record_goes_round_the_end, set_up),
		cmocka_unit_test_setup(hostile_records_are_refused, set_up),
		cmocka_unit_test_setup(committed_is_seen_and_nothing_else, set_up),
		cmocka_unit_test_setup(regions_go_on_in_the_next_record, set_up),
		cmocka_unit_test_setup(what_home_lacks_is_not_guessed, set_up),
		cmocka_unit_test_setup(other_logs_begin_a_new_era, set_up),
		cmocka_unit_test_setup(begun_in_the_middle_of_a_checkpoint, set_up),
		cmocka_unit_test_setup(watched_bytes_tell_of_every_commit, set_up),
		cmocka_unit_test_setup(hostile_items_are_refused, set_up),
		cmocka_unit_test_setup(buffers_are_laid_over_blocks, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
