/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlap.h - finds volumes that share bytes of a disk.
 *
 * No partitioner and no LVM command makes such volumes, but a guest can write such tables: many
 * volumes over one journal make each look read that journal as many times. And a disk that was used
 * before in another way has volumes of both uses.
 */
#ifndef VREAD_LAYOUT_OVERLAP_H
#define VREAD_LAYOUT_OVERLAP_H

#include "layout/layout.h"

struct overlap_volume {
	const struct layout_filesystem *at; /* NULL: to be left out */
	unsigned reading;                   /* volumes of different readings are not compared */
};

/* `a` and `b` share a byte, and are equal if one volume has a byte twice. Returns 0 to go on, or a
 * negative errno, which ends the search. */
typedef int overlap_cb(void *ctx, unsigned a, unsigned b);
/* Calls `cb` with the numbers of volumes that share bytes: each such volume is in one of the pairs
 * at least. Returns 0, -ENOMEM, or the error of `cb`. */
int overlaps_find(const struct overlap_volume *list, unsigned count, overlap_cb *cb, void *ctx);

#endif
