/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash.h - a hash of texts. Tables that are keyed by a storage id use it: peer/directory.c and
 * datanode/owners.c. table.h is for keys that are numbers.
 */
#ifndef VREAD_BASE_HASH_H
#define VREAD_BASE_HASH_H

#include <stdint.h>

/*
 * FNV-1a, 32 bits (draft-eastlake-fnv). Anybody can make texts with equal hashes, so a table whose
 * texts come from outside must bound how many it takes of one source.
 */
static inline uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261U;

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 16777619U;
	return hash;
}

#endif
