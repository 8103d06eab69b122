// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads records of an XFS log and checks their headers, cycles and checksums; see xfs_record.h.
 * xfs_log.c and xfs_find_head.c call these functions.
 */
#include <errno.h>
#include <string.h>

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_record.h"

#define MAGIC 0xfeedbabeU
#define VERSION 2U
#define LITTLE_ENDIAN_FORMAT 1U
#define CYCLES_PER_HEADER 64U /* sectors per header, which keeps a word of each */
#define BYTES_PER_HEADER (CYCLES_PER_HEADER * XFS_BASIC_BLOCK)
#define MAX_OPERATIONS (XFS_RECORD_MAX_BYTES / 12)

enum at {
	AT_CYCLE = 4,
	AT_VERSION = 8,
	AT_LENGTH = 12,
	AT_PLACE = 16,
	AT_TAIL = 24,
	AT_SUM = 32,
	AT_BEFORE = 36,
	AT_OPERATIONS = 40,
	AT_WORDS = 44,
	AT_FORMAT = 300,
	AT_UUID = 304,
	AT_SIZE = 320,
	AT_MORE_WORDS = 4, /* in headers after the first */
};

/* Bytes that checksums cover: of the first header, if a 64-bit or a 32-bit processor wrote the
 * record; and of each further header. */
#define SUMMED_64 328U
#define SUMMED_32 324U
#define SUMMED_MORE (AT_MORE_WORDS + 4 * CYCLES_PER_HEADER)

/* XFS skips the cycle that equals MAGIC, because a sector would look like a header. */
static uint32_t next_cycle(uint32_t cycle)
{
	return cycle + 1 == MAGIC ? cycle + 2 : cycle + 1;
}

struct xfs_place xfs_place_after(const struct xfs_super *s, struct xfs_place p, uint32_t sectors)
{
	p.sector += sectors;
	if (p.sector >= s->log_sectors) {
		p.sector -= s->log_sectors;
		p.cycle = next_cycle(p.cycle);
	}
	return p;
}

uint64_t xfs_sector_offset(const struct xfs_super *s, uint32_t sector)
{
	return s->log_offset + (uint64_t)sector * XFS_BASIC_BLOCK;
}

uint32_t xfs_sector_cycle(const uint8_t sector[XFS_CYCLE_BYTES])
{
	return xfs_get32(sector) == MAGIC ? xfs_get32(sector + AT_CYCLE) : xfs_get32(sector);
}

static struct xfs_place get_place(const uint8_t *at)
{
	return (struct xfs_place){xfs_get32(at), xfs_get32(at + 4)};
}

/* The place of an earlier record at sector, in the cycle of at or in the cycle before. */
static struct xfs_place place_before(struct xfs_place at, uint32_t sector)
{
	if (sector >= at.sector)
		at.cycle = at.cycle - 1 == MAGIC ? at.cycle - 2 : at.cycle - 1;
	at.sector = sector;
	return at;
}

static uint32_t sectors_of(uint32_t bytes)
{
	return (bytes + XFS_BASIC_BLOCK - 1) / XFS_BASIC_BLOCK;
}

bool xfs_record_parse(const struct xfs_super *s, const uint8_t sector[XFS_BASIC_BLOCK],
		      struct xfs_place at, struct xfs_record *ret)
{
	uint32_t size = xfs_get32(sector + AT_SIZE), sectors;

	if (xfs_get32(sector) != MAGIC || xfs_get32(sector + AT_VERSION) != VERSION ||
	    xfs_get32(sector + AT_FORMAT) != LITTLE_ENDIAN_FORMAT ||
	    memcmp(sector + AT_UUID, s->uuid, sizeof(s->uuid)) ||
	    !xfs_place_equal(get_place(sector + AT_PLACE), at) ||
	    xfs_get32(sector + AT_CYCLE) != at.cycle || at.sector >= s->log_sectors)
		return false;
	ret->at = at;
	ret->tail = get_place(sector + AT_TAIL);
	ret->length = xfs_get32(sector + AT_LENGTH);
	ret->operations = xfs_get32(sector + AT_OPERATIONS);
	/* The record of mkfs and xfs_repair is longer than the size in its header. */
	if (ret->length > size && ret->operations == 1)
		size = s->log_record_bytes;
	if (ret->length == 0 || ret->length > size ||
	    size > XFS_RECORD_MAX_BYTES - 8 * XFS_BASIC_BLOCK || ret->operations > MAX_OPERATIONS)
		return false;
	if (xfs_place_before(at, ret->tail) || ret->tail.sector >= s->log_sectors)
		return false;
	ret->header_bytes = (size + BYTES_PER_HEADER - 1) / BYTES_PER_HEADER * XFS_BASIC_BLOCK;
	ret->before = place_before(at, xfs_get32(sector + AT_BEFORE));
	sectors = ret->header_bytes / XFS_BASIC_BLOCK + sectors_of(ret->length);
	ret->next = xfs_place_after(s, at, sectors);
	return sectors < s->log_sectors;
}

static uint32_t record_sum(const struct xfs_record *r, const uint8_t *data, uint32_t summed)
{
	static const uint8_t none[4];
	uint32_t headers = (r->length + BYTES_PER_HEADER - 1) / BYTES_PER_HEADER;
	uint32_t sum = xfs_sum_add(XFS_SUM_SEED, data, AT_SUM);

	sum = xfs_sum_add(sum, none, sizeof(none));
	sum = xfs_sum_add(sum, data + AT_SUM + 4, summed - AT_SUM - 4);
	for (uint32_t i = 1; i < headers; i++)
		sum = xfs_sum_add(sum, data + i * XFS_BASIC_BLOCK, SUMMED_MORE);
	return ~xfs_sum_add(sum, data + r->header_bytes, r->length);
}

static bool sum_right(const struct xfs_record *r, const uint8_t *data)
{
	uint32_t sum = xfs_item_get32(data + AT_SUM);

	/* mkfs and xfs_repair write one record, without a checksum. */
	if (sum == 0 && r->operations == 1)
		return true;
	return sum == record_sum(r, data, SUMMED_64) || sum == record_sum(r, data, SUMMED_32);
}

/* Decides why a record has a wrong checksum, from the cycles of its sectors.  Returns as
 * xfs_record_unpack(). */
static int judge_torn(const struct xfs_super *s, const struct xfs_record *r, const uint8_t *data)
{
	uint32_t count = (r->next.sector + s->log_sectors - r->at.sector) % s->log_sectors;
	int found = -EAGAIN;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t cycle = xfs_sector_cycle(data + i * XFS_BASIC_BLOCK);
		struct xfs_place want = xfs_place_after(s, r->at, i);

		if (cycle > want.cycle)
			return XFS_FOUND_LATER;
		if (cycle < want.cycle)
			found = XFS_FOUND_NOTHING;
	}
	return found;
}

int xfs_record_unpack(const struct xfs_super *s, const struct xfs_record *r, uint8_t *data)
{
	if (!sum_right(r, data))
		return judge_torn(s, r, data);
	for (uint32_t i = 0; i < sectors_of(r->length); i++) {
		uint32_t header = i / CYCLES_PER_HEADER, word = i % CYCLES_PER_HEADER;
		const uint8_t *words =
			data + header * XFS_BASIC_BLOCK + (header ? AT_MORE_WORDS : AT_WORDS);

		memcpy(data + r->header_bytes + i * XFS_BASIC_BLOCK, words + 4 * word, 4);
	}
	return XFS_FOUND_RECORD;
}

int xfs_log_sectors(struct fs *fs, const struct xfs_super *s, uint32_t sector, uint32_t count,
		    uint8_t *ret)
{
	uint32_t first = count < s->log_sectors - sector ? count : s->log_sectors - sector;
	int r = volume_read(fs->volume, xfs_sector_offset(s, sector), ret,
			    (size_t)first * XFS_BASIC_BLOCK);

	if (r < 0 || first == count)
		return r;
	return volume_read(fs->volume, s->log_offset, ret + (size_t)first * XFS_BASIC_BLOCK,
			   (size_t)(count - first) * XFS_BASIC_BLOCK);
}

int xfs_record_read(struct fs *fs, const struct xfs_super *s, struct xfs_place at, uint8_t *data,
		    struct xfs_record *ret)
{
	struct xfs_record first;
	uint32_t cycle;
	int r = xfs_log_sectors(fs, s, at.sector, 1, data);

	if (r < 0)
		return r;
	cycle = xfs_sector_cycle(data);
	if (cycle != at.cycle)
		return cycle < at.cycle ? XFS_FOUND_NOTHING : XFS_FOUND_LATER;
	if (!xfs_record_parse(s, data, at, &first))
		return -EAGAIN;
	r = xfs_log_sectors(fs, s, at.sector,
			    first.header_bytes / XFS_BASIC_BLOCK + sectors_of(first.length), data);
	if (r < 0)
		return r;
	/* The header was read a second time, and may have changed. */
	cycle = xfs_sector_cycle(data);
	if (cycle != at.cycle)
		return cycle > at.cycle ? XFS_FOUND_LATER : -EAGAIN;
	if (!xfs_record_parse(s, data, at, ret) || ret->length != first.length ||
	    ret->header_bytes != first.header_bytes)
		return -EAGAIN;
	return xfs_record_unpack(s, ret, data);
}
