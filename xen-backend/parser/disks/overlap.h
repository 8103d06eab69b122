/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlap.h - refuses volumes that share bytes of a disk. Only volumes.c calls it.
 *
 * No partitioner and no LVM command makes such volumes, but a guest can write such tables: many
 * volumes over one journal make each look read that journal as many times.
 */
#ifndef VREAD_LAYOUT_OVERLAP_H
#define VREAD_LAYOUT_OVERLAP_H

#include "parser/disks/volumes.h"

/* Sets the problem of each volume that could be read otherwise and that shares a byte with another
 * such volume, or has a byte twice. Returns 0 or -ENOMEM. */
int volumes_refuse_overlaps(struct volumes *v);

#endif
