/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sectors.h - files and disks, and the sectors in them worth changing: those
 * that NAME.sectors lists, from bases.py.
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
 * Applies those changes of the input that are for that moment (0, 1): each is 2
 * bytes for the sector, 2 for the offset in it, 1 for the length and the moment, and
 * the bytes.
 */
void sectors_change(struct sectors *s, struct bytes changes, unsigned moment);

#endif
