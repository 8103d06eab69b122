/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xfs_find_head.h - where following an XFS's log begins; private to fs/. */
#ifndef VREAD_FS_XFS_FIND_HEAD_H
#define VREAD_FS_XFS_FIND_HEAD_H

#include "parser/fs/xfs_record.h"

/*
 * A record that is whole, near the newest: from its tail on all is to be learned, and beyond it.
 * record: XFS_RECORD_MAX_BYTES, overwritten.  -EAGAIN with *ret_reason: none was found.
 */
int xfs_find_record(struct fs *fs, const struct xfs_super *s, uint8_t *record,
		    struct xfs_record *ret, const char **ret_reason);

/* Takes *place, of a record, back by as many records, or by those there are; -EAGAIN: none. */
int xfs_find_before(struct fs *fs, const struct xfs_super *s, struct xfs_place *place,
		    unsigned records);

#endif
