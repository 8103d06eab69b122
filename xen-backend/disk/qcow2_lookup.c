// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where qcow2 has a piece of the disk; see qcow2.h.
 *
 * Two levels of tables say it: an L1 entry has the place of an L2 table, an L2
 * entry that of a cluster, or of 32 subclusters.  The file's owner writes all
 * of them, so each look reads them from the file, the header too, which has
 * the place of the L1 table; neighbours are merged into one extent.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "disk/qcow2.h"

#define PLACE_MASK UINT64_C(0x00fffffffffffe00)
#define ENTRY_PACKED (UINT64_C(1) << 62)
#define ENTRY_ZERO UINT64_C(1)
#define SUBCLUSTERS 32U
#define PART_BYTES 4096U /* of an L2 table, read at once */
#define MAX_PARTS 64U    /* of L2 tables in one look */

struct walk {
	struct image *img;
	const struct qcow2_header *header;
	uint64_t l1_offset;
	uint64_t at, end; /* of the disk: what is still to be looked at */
	struct qcow2_extent found;
};

/* The file grows as its owner writes. */
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

/* Whether what is next belongs to the extent; it does if it is the first. */
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

/* 1: the extent ends before it.  Likewise below. */
static int walk_cluster(struct walk *w, uint64_t entry)
{
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t place = entry & PLACE_MASK;
	enum qcow2_kind kind = place ? QCOW2_DATA : QCOW2_BACKING;

	if (entry & ENTRY_ZERO && w->header->version == 3)
		kind = QCOW2_ZERO;
	if (place % cluster)
		return -EIO;
	return !add(w, kind, place + w->at % cluster, rest(w, cluster));
}

static int subcluster_kind(uint64_t bits, unsigned i, uint64_t place, enum qcow2_kind *ret)
{
	bool allocated = bits >> i & 1, zero = bits >> (32 + i) & 1;

	if (allocated && (zero || !place))
		return -EIO;
	*ret = allocated ? QCOW2_DATA : zero ? QCOW2_ZERO : QCOW2_BACKING;
	return 0;
}

static int walk_subclusters(struct walk *w, uint64_t entry, uint64_t bits)
{
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits, unit = cluster / SUBCLUSTERS;
	uint64_t place = entry & PLACE_MASK, n = rest(w, cluster);

	if (place % cluster)
		return -EIO;
	for (uint64_t end = w->at + n; w->at < end;) {
		uint64_t within = w->at % cluster;
		enum qcow2_kind kind;

		if (subcluster_kind(bits, (unsigned)(within / unit), place, &kind) < 0)
			return -EIO;
		if (!add(w, kind, place + within, rest(w, unit)))
			return 1;
	}
	return 0;
}

static int walk_entry(struct walk *w, const uint64_t *entry)
{
	uint64_t first = be64toh(entry[0]);

	if (first & ENTRY_PACKED)
		return !add(w, QCOW2_PACKED, first,
			    rest(w, UINT64_C(1) << w->header->cluster_bits));
	return w->header->extended_l2 ? walk_subclusters(w, first, be64toh(entry[1]))
				      : walk_cluster(w, first);
}

/* The entries of one L2 table, from that of w->at on, that are needed and fit. */
static int walk_part(struct walk *w, uint64_t table, uint64_t table_span)
{
	uint64_t part[PART_BYTES / sizeof(uint64_t)];
	unsigned words = w->header->extended_l2 ? 2 : 1;
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t index = w->at % table_span / cluster;
	uint64_t count = (w->at % cluster + rest(w, table_span) + cluster - 1) / cluster;
	int r;

	if (count > PART_BYTES / (8 * words))
		count = PART_BYTES / (8 * words);
	r = read_table(w, table + index * 8 * words, part, count * 8 * words);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = walk_entry(w, part + i * words);
	return r;
}

static int walk_table(struct walk *w)
{
	uint64_t cluster = UINT64_C(1) << w->header->cluster_bits;
	uint64_t span = cluster * (cluster / (w->header->extended_l2 ? 16 : 8));
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
