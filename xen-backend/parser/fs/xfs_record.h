/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_record.h - reads and checks records of an XFS log; private to fs/.  xfs_log.c and
 * xfs_find_head.c call it.
 *
 * The log is a ring of sectors of 512 bytes.  XFS counts the rounds through the ring (cycles).
 * Every sector of a record begins with the cycle in which the sector was written.  The record's
 * header keeps the four bytes that the cycle replaces.  So each sector tells whether it was written
 * in this cycle, and the record's checksum tells whether the record is complete.
 */
#ifndef VREAD_FS_XFS_RECORD_H
#define VREAD_FS_XFS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parser/fs/xfs_super.h"

#define XFS_RECORD_MAX_BYTES (262144U + 8 * XFS_BASIC_BLOCK)

struct fs;

/* A place in the log. */
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
	struct xfs_place before;       /* place of the previous record */
	uint32_t header_bytes, length; /* bytes of the headers, and of the rest */
	uint32_t operations;
};

enum xfs_found {
	XFS_FOUND_NOTHING, /* the record is not written yet, or only in part */
	XFS_FOUND_RECORD,
	XFS_FOUND_LATER, /* the log wrapped; a later cycle was written there */
};

/* The place that many sectors after p. */
struct xfs_place xfs_place_after(const struct xfs_super *s, struct xfs_place p, uint32_t sectors);
/* The cycle a sector was written in, from the first XFS_CYCLE_BYTES of the sector. */
#define XFS_CYCLE_BYTES 8U
uint32_t xfs_sector_cycle(const uint8_t sector[XFS_CYCLE_BYTES]);
/* Offset of a sector of the log in the volume, in bytes. */
uint64_t xfs_sector_offset(const struct xfs_super *s, uint32_t sector);

/* Pure.  True if sector is the header of a record of that file system, written at place at. */
bool xfs_record_parse(const struct xfs_super *s, const uint8_t sector[XFS_BASIC_BLOCK],
		      struct xfs_place at, struct xfs_record *ret);
/* Pure.  Checks a record and replaces the cycles in its sectors by the bytes kept in the header.
 * data: the record with its header.  Returns an enum xfs_found; -EAGAIN: all sectors are of this
 * cycle, but the checksum is wrong. */
int xfs_record_unpack(const struct xfs_super *s, const struct xfs_record *r, uint8_t *data);

/* Reads count sectors of the log as they are on disk; after the last sector comes the first. */
int xfs_log_sectors(struct fs *fs, const struct xfs_super *s, uint32_t sector, uint32_t count,
		    uint8_t *ret);
/*
 * Reads the record that begins at place at.  Returns an enum xfs_found; -EAGAIN: the sectors read
 * do not tell whether the record is there; -EIO.  After XFS_FOUND_RECORD the record's operations
 * are at data + ret->header_bytes.  data has room for XFS_RECORD_MAX_BYTES.
 */
int xfs_record_read(struct fs *fs, const struct xfs_super *s, struct xfs_place at, uint8_t *data,
		    struct xfs_record *ret);

#endif
