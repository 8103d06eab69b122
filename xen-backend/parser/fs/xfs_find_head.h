/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_find_head.h - finds the record at which following an XFS log begins; private to fs/.
 * xfs_log.c calls it.
 */
#ifndef VREAD_FS_XFS_FIND_HEAD_H
#define VREAD_FS_XFS_FIND_HEAD_H

#include "parser/fs/xfs_record.h"

/*
 * Finds a whole record near the newest one.  The caller must read all records from the tail of that
 * record on, up to the end of the log.  record: a buffer of XFS_RECORD_MAX_BYTES, which gets the
 * unpacked record.  -EAGAIN: no whole record was found; on every error *ret_reason says why.
 */
int xfs_find_record(struct fs *fs, const struct xfs_super *s, uint8_t *record,
		    struct xfs_record *ret, const char **ret_reason);

/* *place is the place of a record.  Moves *place back by that many records, or by as many as there
 * are.  -EAGAIN: there is no record before *place. */
int xfs_find_before(struct fs *fs, const struct xfs_super *s, struct xfs_place *place,
		    unsigned records);

#endif
