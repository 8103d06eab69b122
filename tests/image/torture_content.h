/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_content.h - what stands where in the blocks of a torture.
 *
 * Every 16 bytes of a block say which block they are of, under which generation
 * stamp they were written, and where they belong; what should stand at a place
 * follows from the numbers of block and stamp alone.  So each read is judged by
 * itself, wherever it was made.
 */
#ifndef VREAD_TORTURE_CONTENT_H
#define VREAD_TORTURE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#define TORTURE_POOL "BP-1-127.0.0.1-1"
#define TORTURE_SLOTS 48U /* blocks there are at one time */
#define TORTURE_VERSIONS 6U
#define TORTURE_UNIT 16U
#define TORTURE_FIRST_STAMP 1001U

struct torture_unit {
	uint32_t id, stamp;
	uint64_t offset;
};

/* One version of a block: its stamp is TORTURE_FIRST_STAMP + version. */
struct torture_shape {
	uint64_t cut;    /* bytes kept of the version before */
	uint64_t length; /* of this one */
};

enum torture_verdict {
	TORTURE_RIGHT, /* as the stamp asked for has it */
	TORTURE_AHEAD, /* as a later stamp of the same block has it: its owner rewrote the place and
			* has not committed the new stamp yet.  HDFS reads the same. */
	TORTURE_WRONG, /* anything else; it was written to standard error */
};

uint64_t torture_mix(uint64_t x);
uint64_t torture_random(uint64_t *state);

struct torture_shape torture_shape_of(uint32_t id, unsigned version);
struct torture_unit torture_unit_at(uint32_t id, unsigned version, uint64_t offset);
/* Of bytes read at offset, a multiple of TORTURE_UNIT. */
enum torture_verdict torture_judge(uint32_t id, unsigned version, uint64_t offset,
				   const uint8_t *data, size_t length);

#endif
