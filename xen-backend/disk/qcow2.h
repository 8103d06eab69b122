/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qcow2.h - types and functions that the files of the qcow2 format share: disk/qcow2.c,
 * disk/qcow2_lookup.c and disk/qcow2_unpack.c.  Private to disk/.
 */
#ifndef VREAD_DISK_QCOW2_H
#define VREAD_DISK_QCOW2_H

#include <stdatomic.h>

#include "disk/image_impl.h"
#include "disk/qcow2_header.h"

struct qcow2 {
	struct qcow2_header header;
	uint8_t head[QCOW2_HEAD_BYTES]; /* of the file when it was opened */
	atomic_bool stale;              /* the file no longer holds the disk that was opened */
};

enum qcow2_kind {
	QCOW2_DATA,
	QCOW2_ZERO,
	QCOW2_BACKING, /* not in this file */
	QCOW2_PACKED,  /* compressed; the extent lies in one cluster */
};

struct qcow2_extent {
	enum qcow2_kind kind;
	uint64_t place; /* DATA: offset in the file; PACKED: the L2 entry */
	uint64_t length;
};

/* Reads the file's tables and finds the first extent of [offset, offset + length).  Returns 0 or
 * negative errno. */
int qcow2_lookup(struct image *img, uint64_t offset, uint64_t length, struct qcow2_extent *ret);

/* Unpacks the compressed cluster of an L2 entry and copies length of its bytes, from byte `within`
 * on.  Returns 0 or negative errno. */
int qcow2_unpack_cluster(struct image *img, uint64_t entry, uint64_t within, void *buf,
			 size_t length);

#endif
