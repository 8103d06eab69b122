/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qcow2.h - what the files of the qcow2 format share; private to disk/.
 */
#ifndef VREAD_DISK_QCOW2_H
#define VREAD_DISK_QCOW2_H

#include <stdatomic.h>

#include "disk/image_impl.h"
#include "disk/qcow2_header.h"

struct qcow2 {
	struct qcow2_header header;
	uint8_t head[QCOW2_HEAD_BYTES]; /* as it was opened */
	atomic_bool stale;              /* another disk than was opened */
};

enum qcow2_kind {
	QCOW2_DATA,
	QCOW2_ZERO,
	QCOW2_BACKING, /* not in this file */
	QCOW2_PACKED,  /* compressed: part of one cluster */
};

struct qcow2_extent {
	enum qcow2_kind kind;
	uint64_t place; /* DATA: in the file; PACKED: the L2 entry */
	uint64_t length;
};

/* The first extent of [offset, offset + length), as the file's tables have it now. */
int qcow2_lookup(struct image *img, uint64_t offset, uint64_t length, struct qcow2_extent *ret);

/* Length bytes from within on, of the cluster with that L2 entry. */
int qcow2_unpack_cluster(struct image *img, uint64_t entry, uint64_t within, void *buf,
			 size_t length);

#endif
