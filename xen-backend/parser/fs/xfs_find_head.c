// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the record at which following an XFS log begins; see xfs_find_head.h.  xfs_log.c calls
 * these functions.
 *
 * The first sector of the log has the number of the current cycle.  A binary search finds the end
 * of that cycle.  XFS writes up to eight records at a time, in any order, so the place found is
 * only near the end of the log.  From that place this code searches backwards for a whole record.
 */
#include <errno.h>
#include <stdlib.h>

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_find_head.h"
#include "parser/fs/xfs_format.h"

#define WINDOW_SECTORS 128U
#define MAX_BACK_SECTORS (4 * 8 * XFS_RECORD_MAX_BYTES / XFS_BASIC_BLOCK)
#define RECORD_MAGIC 0xfeedbabeU

static int read_cycle(struct fs *fs, const struct xfs_super *s, uint32_t sector, uint32_t *ret)
{
	uint8_t data[XFS_BASIC_BLOCK];
	int r = xfs_log_sectors(fs, s, sector, 1, data);

	if (r == 0)
		*ret = xfs_sector_cycle(data);
	return r;
}

/* Finds the first sector that was not written in the cycle of sector 0. */
static int find_end(struct fs *fs, const struct xfs_super *s, uint32_t *ret)
{
	uint32_t low = 0, high = s->log_sectors, round, cycle;
	int r = read_cycle(fs, s, 0, &round);

	while (r == 0 && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		r = read_cycle(fs, s, middle, &cycle);
		if (cycle == round)
			low = middle;
		else
			high = middle;
	}
	*ret = high;
	return r;
}

/* Looks for the last whole record that begins in count sectors from first on.  data has the bytes
 * of these sectors.  1: found; 0: none. */
static int find_in_window(struct fs *fs, const struct xfs_super *s, uint32_t first, uint32_t count,
			  const uint8_t *data, uint8_t *record, struct xfs_record *ret)
{
	for (uint32_t i = count; i-- > 0;) {
		const uint8_t *sector = data + (size_t)i * XFS_BASIC_BLOCK;
		struct xfs_place at = {xfs_sector_cycle(sector), first + i};

		if (xfs_get32(sector) == RECORD_MAGIC && xfs_record_parse(s, sector, at, ret) &&
		    xfs_record_read(fs, s, at, record, ret) == XFS_FOUND_RECORD)
			return 1;
	}
	return 0;
}

static int search(struct fs *fs, const struct xfs_super *s, uint32_t end, uint8_t *window,
		  uint8_t *record, struct xfs_record *ret)
{
	uint32_t limit = s->log_sectors < MAX_BACK_SECTORS ? s->log_sectors : MAX_BACK_SECTORS;
	int r = 0;

	for (uint32_t back = 0; back < limit && r == 0;) {
		uint32_t count = end < WINDOW_SECTORS ? end : WINDOW_SECTORS;

		end -= count;
		back += count;
		r = xfs_log_sectors(fs, s, end, count, window);
		if (r == 0)
			r = find_in_window(fs, s, end, count, window, record, ret);
		if (end == 0)
			end = s->log_sectors;
	}
	return r;
}

int xfs_find_record(struct fs *fs, const struct xfs_super *s, uint8_t *record,
		    struct xfs_record *ret, const char **ret_reason)
{
	uint8_t *window = malloc((size_t)WINDOW_SECTORS * XFS_BASIC_BLOCK);
	uint32_t end;
	int r;

	*ret_reason = "out of memory";
	if (!window)
		return -ENOMEM;
	*ret_reason = "its log cannot be read";
	r = find_end(fs, s, &end);
	if (r == 0)
		r = search(fs, s, end, window, record, ret);
	free(window);
	if (r == 0)
		*ret_reason = "its log holds no whole record: it is damaged";
	if (r < 0)
		return r;
	return r == 1 ? 0 : -EAGAIN;
}

static int read_header(struct fs *fs, const struct xfs_super *s, struct xfs_place at,
		       struct xfs_record *ret)
{
	uint8_t sector[XFS_BASIC_BLOCK];
	int r;

	if (at.sector >= s->log_sectors)
		return -EAGAIN;
	r = xfs_log_sectors(fs, s, at.sector, 1, sector);
	if (r < 0)
		return r;
	return xfs_record_parse(s, sector, at, ret) ? 0 : -EAGAIN;
}

int xfs_find_before(struct fs *fs, const struct xfs_super *s, struct xfs_place *place,
		    unsigned records)
{
	struct xfs_record record;
	int r = read_header(fs, s, *place, &record);
	unsigned i;

	for (i = 0; i < records && r == 0; i++) {
		r = read_header(fs, s, record.before, &record);
		if (r == 0)
			*place = record.at;
	}
	return i > 1 || r == 0 ? 0 : r;
}
