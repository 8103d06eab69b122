/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_content.h - the content of the blocks of a torture test. The owner (torture_owner.c)
 * fills blocks with it. The readers (torture.c, tests/xen/torture_reader.c) judge bytes by it.
 *
 * Every 16 bytes of a block name their block, the generation stamp they were written under, and
 * their offset. The right content follows from block id, stamp and offset alone. So each read can
 * be judged by itself, on any machine.
 */
#ifndef VREAD_TORTURE_CONTENT_H
#define VREAD_TORTURE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#define TORTURE_POOL "BP-1-127.0.0.1-1"
#define TORTURE_SLOTS 48U /* most blocks at one time */
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
	uint64_t length; /* of this version */
};

enum torture_verdict {
	TORTURE_RIGHT, /* content of the stamp that was asked for */
	TORTURE_AHEAD, /* content of a later stamp of the same block: the owner has rewritten the
			* place and not yet committed the new stamp. HDFS would read the same. */
	TORTURE_WRONG, /* any other content; reported on standard error */
};

uint64_t torture_mix(uint64_t x);
uint64_t torture_random(uint64_t *state);

struct torture_shape torture_shape_of(uint32_t id, unsigned version);
struct torture_unit torture_unit_at(uint32_t id, unsigned version, uint64_t offset);
/* Judges bytes that were read at offset. offset must be a multiple of TORTURE_UNIT. */
enum torture_verdict torture_judge(uint32_t id, unsigned version, uint64_t offset,
				   const uint8_t *data, size_t length);

#endif
