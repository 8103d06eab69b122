// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up where a qcow2 file has a piece of its disk; see qcow2.h.  disk/qcow2.c calls it.
 *
 * There are two levels of tables.  An L1 entry has the place of an L2 table, an L2 entry has the
 * place of a cluster.  The header has the place of the L1 table.  The owner of the file writes all
 * of them, so each look-up reads all of them from the file.  Neighbouring clusters are merged into
 * one extent.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "disk/qcow2.h"

#define PLACE_MASK UINT64_C(0x00fffffffffffe00)
#define ENTRY_PACKED (UINT64_C(1) << 62)
#define ENTRY_ZERO UINT64_C(1)
#define PART_BYTES 4096U /* bytes of an L2 table that are read at once */
#define MAX_PARTS 64U    /* parts of L2 tables in one look-up */

struct walk {
	struct image *img;
	const struct qcow2_header *header;
	uint64_t l1_offset;
	uint64_t at, end; /* bytes of the disk that are still to be looked up */
	struct qcow2_extent found;
};

/* Reads a part of a table.  Asks for the file's size again, since the file grows as its owner
 * writes. */
static int read_table(struct walk *w, uint64_t place, void *buf, size_t length)
{
	if (place + length > source_size(w->img->source))
		source_size_now(w->img->source);
	return source_read(w->img->source, place, buf, length);
}

static int read_header(struct walk *w)
{
	struct qcow2 *q = w->img->state;
	uint8_t now[QCOW2_HEAD_BYTES];
	int r = source_read(w->img->source, 0, now, q->header.head_bytes);

	if (r < 0)
		return r;
	if (qcow2_header_follow(&q->header, q->head, now, &w->l1_offset))
		return 0;
	atomic_store(&q->stale, true);
	return -EIO;
}

static uint64_t rest(const struct walk *w, uint64_t unit)
{
	uint64_t n = unit - w->at % unit;

	return n < w->end - w->at ? n : w->end - w->at;
}

/* Adds a piece to the extent.  Returns false if the piece does not continue the extent; the first
 * piece always does. */
static bool add(struct walk *w, enum qcow2_kind kind, uint64_t place, uint64_t length)
{
	struct qcow2_extent *e = &w->found;

	if (e->length == 0)
		*e = (struct qcow2_extent){kind, place, 0};
	else if (e->kind != kind || kind == QCOW2_PACKED ||
		 (kind == QCOW2_DATA && e->place + e->length != place))
		return false;
	e->length += length;
	w->at += length;
	return true;
}

/* The walk functions return 0 to go on, 1 if the extent ends before the next piece, or negative
 * errno. */
static int walk_entry(struct walk *w, uint64_t entry)
{
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t place = entry & PLACE_MASK;
	enum qcow2_kind kind = place ? QCOW2_DATA : QCOW2_BACKING;

	if (entry & ENTRY_PACKED)
		return !add(w, QCOW2_PACKED, entry, rest(w, cluster));
	if (entry & ENTRY_ZERO && w->header->version == 3)
		kind = QCOW2_ZERO;
	if (place % cluster)
		return -EIO;
	return !add(w, kind, place + w->at % cluster, rest(w, cluster));
}

/* Walks the entries of one L2 table, from that of w->at on, as many as are needed and fit into a
 * part. */
static int walk_part(struct walk *w, uint64_t table, uint64_t table_span)
{
	uint64_t part[PART_BYTES / sizeof(uint64_t)];
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t index = w->at % table_span / cluster;
	uint64_t count = (w->at % cluster + rest(w, table_span) + cluster - 1) / cluster;
	int r;

	if (count > PART_BYTES / 8)
		count = PART_BYTES / 8;
	r = read_table(w, table + index * 8, part, count * 8);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = walk_entry(w, be64toh(part[i]));
	return r;
}

static int walk_table(struct walk *w)
{
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t span = cluster * (cluster / 8);
	uint64_t table;
	int r = read_table(w, w->l1_offset + w->at / span * 8, &table, sizeof(table));

	if (r < 0)
		return r;
	table = be64toh(table) & PLACE_MASK;
	if (table % cluster)
		return -EIO;
	return table ? walk_part(w, table, span) : !add(w, QCOW2_BACKING, 0, rest(w, span));
}

int qcow2_lookup(struct image *img, uint64_t offset, uint64_t length, struct qcow2_extent *ret)
{
	const struct qcow2 *q = img->state;
	struct walk w = {.img = img, .header = &q->header, .at = offset, .end = offset + length};
	int r = read_header(&w);

	for (unsigned i = 0; i < MAX_PARTS && r == 0 && w.at < w.end; i++)
		r = walk_table(&w);
	if (r < 0 && w.found.length == 0)
		return r;
	*ret = w.found;
	return 0;
}
