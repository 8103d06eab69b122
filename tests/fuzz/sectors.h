/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sectors.h - files and disks, and the sectors in them that are worth changing.  bases.py lists
 * these sectors in NAME.sectors.  fuzz_disk.c and fuzz_image.c use them.
 */
#ifndef VREAD_FUZZ_SECTORS_H
#define VREAD_FUZZ_SECTORS_H

#include "memory.h"

#define SECTOR 512U
#define MAX_SECTORS 512U

struct sectors {
	struct memory memory;
	unsigned count;
	uint64_t sector[MAX_SECTORS];
};

void sectors_load(struct sectors *s, const char *name);
/*
 * Applies the changes of the input that belong to a moment (0, 1).  A change is 2 bytes for the
 * sector, 2 for the offset in it, 1 for length and moment, and the bytes.
 */
void sectors_change(struct sectors *s, struct bytes changes, unsigned moment);

#endif
