/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakepeers.h - a fake of peer.h without a network, for test_ring_remote.c.  The test controls the
 * other hosts.
 *
 * There is one block.  It lies on the storage FAKE_STORAGE and has FAKE_BLOCK_BYTES bytes; byte i
 * is fake_byte(i).  Every operation that begins is queued, oldest first.  An operation ends when
 * the test calls fake_end(), in any order, late and with any result, or when its pool is stopped.
 */
#ifndef VREAD_FAKEPEERS_H
#define VREAD_FAKEPEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_STORAGE "DS-there"
#define FAKE_BLOCK_BYTES 1000000U
#define FAKE_SUM 0xfedcba98U /* the CRC32C that comes with each READ's bytes */

struct peers;

/* Pass this to functions of peer.h.  The fake never dereferences it. */
extern struct peers *const fake_peers;

struct fake_counts {
	unsigned begun, ended;
	unsigned opened, closed; /* handles */
	unsigned pools, stops;   /* existing pools; calls of peer_pool_stop() */
};

void fake_reset(void);
struct fake_counts fake_counts(void);
unsigned fake_under_way(void);
/* Waits until at least count operations are under way. */
void fake_wait(unsigned count);
/* Ends the index-th oldest operation with error.  0: success, a READ first gets its bytes. */
void fake_end(unsigned index, int error);
/* Operations that begin from now on are refused with error.  0: none is refused. */
void fake_refuse(int error);
/* From now on peer_pool_stop() ends no operation, as if the peer were about to answer. */
void fake_ignore_stop(void);

static inline uint8_t fake_byte(uint64_t offset)
{
	return (uint8_t)(offset * 7 + (offset >> 8));
}

#endif
