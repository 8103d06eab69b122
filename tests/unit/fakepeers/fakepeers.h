/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakepeers.h - other hosts under a test's control: what peer.h promises, and
 * no network.
 *
 * One block, "remote", lies on the storage "DS-there" and is of FAKE_BLOCK_BYTES; byte i of
 * it is fake_byte(i).  An operation that was begun is noted, oldest first, and
 * ends when the test says so: in any order, late, with any result, or only because
 * its pool is stopped.
 */
#ifndef VREAD_FAKEPEERS_H
#define VREAD_FAKEPEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_STORAGE "DS-there"
#define FAKE_BLOCK_BYTES 1000000U

struct peers;

/* Anything but NULL: it is never looked into. */
extern struct peers *const fake_peers;

struct fake_counts {
	unsigned begun, ended;
	unsigned opened, closed; /* handles */
	unsigned pools, stops;   /* of pools: now, and how often */
};

void fake_reset(void);
struct fake_counts fake_counts(void);
unsigned fake_under_way(void);
/* Waits until as many are under way. */
void fake_wait(unsigned count);
/* Ends the index-th oldest: its result if 0, or that error.  A READ's bytes are put first. */
void fake_end(unsigned index, int error);
/* What is begun from now on is refused so; 0: no more. */
void fake_refuse(int error);
/* From now on a stop ends nothing: the peer is about to answer. */
void fake_ignore_stop(void);

static inline uint8_t fake_byte(uint64_t offset)
{
	return (uint8_t)(offset * 7 + (offset >> 8));
}

#endif
