/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * published.h - what one datanode has said of its own replicas (PUBLISH).
 *
 * A datanode that is about to append to, truncate or delete a block *withdraws*
 * it first: from then on no handle and no OPEN of that block with a generation
 * stamp up to the one named may be answered with success.  FINALIZED lifts
 * withdrawals up to its own stamp.
 *
 * Withdrawals are bounded in number and in age: the oldest go first.  A block
 * that is no longer listed is read as its file system's committed state has
 * it, so forgetting one costs certainty about the moment, never right bytes.
 *
 * Answers and events exclude each other: what is answered between
 * published_hold() and published_release() was judged by published_withdrawn()
 * as of that moment, and published_take() returns only when no answer that was
 * judged before it is still to be given.  A holder does nothing that may wait.
 *
 * Threads: any.
 */
#ifndef VREAD_DATANODE_PUBLISHED_H
#define VREAD_DATANODE_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

#define PUBLISHED_MAX 32768U            /* withdrawals of one datanode */
#define PUBLISHED_MAX_AGE ((time_t)600) /* seconds */

struct published;

struct published_event {
	const char *pool_id;
	int64_t block_id;
	uint64_t genstamp;
	unsigned event; /* VREAD_PUBLISH_* */
};

struct published *published_new(void); /* NULL: out of memory */
struct published *published_get(struct published *p);
void published_put(struct published *p); /* NULL is ignored */

/* Takes an event into account: 0 or -ENOMEM.  now: seconds of a clock that only goes on. */
int published_take(struct published *p, const struct published_event *e, time_t now);

/* Not to be nested. */
void published_hold(struct published *p);
void published_release(struct published *p);
/* Whether that replica is withdrawn.  Only while held. */
bool published_withdrawn(const struct published *p, const char *pool_id, int64_t block_id,
			 uint64_t genstamp, time_t now);

/* {"finalized", "append", "truncate", "delete": events taken, "withdrawn": now}; new reference. */
json_t *published_json(struct published *p, time_t now);

#endif
