/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * published.h - what one datanode has told about its own replicas (PUBLISH). read/publish.c
 * takes the events and checks each answer against them; the registry keeps one `published` for
 * each datanode.
 *
 * A datanode that is about to append to, truncate or delete a block *withdraws* the block first.
 * From then on, no OPEN and no handle of that block with a generation stamp up to the one named
 * may be answered with success. FINALIZED lifts withdrawals up to its own stamp.
 *
 * Withdrawals are limited in number and age; the oldest are dropped first. A block that is no
 * longer listed is read as the committed state of its file system has it. So a dropped
 * withdrawal costs certainty about the moment, never right bytes.
 *
 * Answers and events exclude each other. Between published_hold() and published_release() the
 * result of published_withdrawn() stays true, and an answer may be given by it. published_take()
 * returns only when no answer that was judged before the event is still to be given. A holder
 * must not do anything that may wait.
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

/* Takes an event into account. Returns 0 or -ENOMEM. `now` is in seconds of a monotonic clock. */
int published_take(struct published *p, const struct published_event *e, time_t now);

/* Holds off events. Must not be nested. */
void published_hold(struct published *p);
void published_release(struct published *p);
/* True if that replica is withdrawn. Call it only between hold and release. */
bool published_withdrawn(const struct published *p, const char *pool_id, int64_t block_id,
			 uint64_t genstamp, time_t now);

/* Returns a new reference: {"finalized", "append", "truncate", "delete": events taken,
 * "withdrawn": withdrawals now}. */
json_t *published_json(struct published *p, time_t now);

#endif
