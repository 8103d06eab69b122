/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_record.h - records of an XFS's log; private to fs/.
 *
 * The log is a ring of sectors of 512 bytes.  Every sector of a record begins with
 * the number of the round (cycle) in which it was written; what stood there is kept
 * in the record's header.  So it is seen of each sector whether it was written this
 * round, and the record's checksum tells whether all of it is there.
 */
#ifndef VREAD_FS_XFS_RECORD_H
#define VREAD_FS_XFS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parser/fs/xfs_super.h"

#define XFS_RECORD_MAX_BYTES (262144U + 8 * XFS_BASIC_BLOCK)

struct fs;

/* In the log: a round, and a sector. */
struct xfs_place {
	uint32_t cycle, sector;
};

static inline bool xfs_place_before(struct xfs_place a, struct xfs_place b)
{
	return a.cycle < b.cycle || (a.cycle == b.cycle && a.sector < b.sector);
}

static inline bool xfs_place_equal(struct xfs_place a, struct xfs_place b)
{
	return a.cycle == b.cycle && a.sector == b.sector;
}

struct xfs_record {
	struct xfs_place at, tail, next;
	struct xfs_place before;       /* where the record before it began */
	uint32_t header_bytes, length; /* length: without the header */
	uint32_t operations;
};

enum xfs_found {
	XFS_FOUND_NOTHING, /* not written yet, or not all of it */
	XFS_FOUND_RECORD,
	XFS_FOUND_LATER, /* the log went round since */
};

/* The place so many sectors further on. */
struct xfs_place xfs_place_after(const struct xfs_super *s, struct xfs_place p, uint32_t sectors);
/* The round a sector was written in, which its first bytes tell. */
#define XFS_CYCLE_BYTES 8U
uint32_t xfs_sector_cycle(const uint8_t sector[XFS_CYCLE_BYTES]);
/* Where a sector of the log lies in the volume. */
uint64_t xfs_sector_offset(const struct xfs_super *s, uint32_t sector);

/* Pure.  Whether sector is the header of a record of that file system, written at that place. */
bool xfs_record_parse(const struct xfs_super *s, const uint8_t sector[XFS_BASIC_BLOCK],
		      struct xfs_place at, struct xfs_record *ret);
/* Pure.  data: header and all.  Checks it, and puts back what stood where cycles are.
 * An enum xfs_found; -EAGAIN: all sectors are of this round, and yet the sum is wrong. */
int xfs_record_unpack(const struct xfs_super *s, const struct xfs_record *r, uint8_t *data);

/* Sectors of the log as they are on disk, round its end. */
int xfs_log_sectors(struct fs *fs, const struct xfs_super *s, uint32_t sector, uint32_t count,
		    uint8_t *ret);
/*
 * The record that begins at that place, if it does: an enum xfs_found; -EAGAIN it is
 * neither there nor not, -EIO.  Its operations are then at data + ret->header_bytes; data has
 * room for XFS_RECORD_MAX_BYTES.
 */
int xfs_record_read(struct fs *fs, const struct xfs_super *s, struct xfs_place at, uint8_t *data,
		    struct xfs_record *ret);

#endif
