/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - where the time of single requests goes, for `vread trace`.
 *
 * Off, it costs a request one relaxed load, and a stage one look at a thread's own pointer.  On, it
 * costs a request two readings of the clock, two more per stage, and a lock at its end; it goes off by
 * itself.  A request is traced by the thread that carries it out; what other threads do for it counts to
 * the stage that waits for them.
 */
#ifndef VREAD_BASE_TRACE_H
#define VREAD_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum trace_stage {
	TRACE_FIND,   /* of OPEN: the block's files and their checks */
	TRACE_CACHE,  /* the verified cache, hit or not */
	TRACE_READ,   /* data and checksums, out of the image or the page cache */
	TRACE_VERIFY, /* checksums */
	TRACE_CHECK,  /* that the replica is still the same */
	TRACE_COPY,   /* to where the guest sees it */
	TRACE_REMOTE, /* another host's answer, its own stages in it */
	TRACE_STAGES,
};

struct trace_record {
	uint64_t sequence; /* from 1 */
	char device[32];
	uint8_t operation; /* VREAD_OP_* */
	int32_t status;
	uint64_t begun, ended;        /* ns of clock_measure_ns(): taken from the ring; put on it */
	uint64_t stage[TRACE_STAGES]; /* ns; they do not overlap */
};

#define TRACE_RECORDS 4096U /* that are kept; older ones are lost */
#define TRACE_MAX_SECONDS 60U

/* Not to be touched but by the functions below. */
extern atomic_bool trace_enabled;
extern _Thread_local struct trace_record *trace_current;

/* On from now on for so many seconds, at most TRACE_MAX_SECONDS.  0 or -ENOMEM. */
int trace_start(unsigned seconds);
/* Copies up to max records with a higher sequence than after, oldest first; how many.  Any thread. */
size_t trace_copy(uint64_t after, struct trace_record *records, size_t max);
/* The sequence of the last record. */
uint64_t trace_last(void);

/* Keeps what was recorded, as having ended now. */
void trace_keep(struct trace_record *record, const char *device, uint8_t operation, int32_t status);

/* True: this thread's stages are added to record from now on, until trace_end(). */
static inline bool trace_begin(struct trace_record *record)
{
	if (!atomic_load_explicit(&trace_enabled, memory_order_relaxed))
		return false;
	*record = (struct trace_record){.begun = clock_measure_ns()};
	trace_current = record;
	return true;
}

static inline void trace_end(void)
{
	trace_current = NULL;
}

/* The beginning of a stage; 0: nothing is traced. */
static inline uint64_t trace_mark(void)
{
	return trace_current ? clock_measure_ns() : 0;
}

/* The end of the stage that began at mark. */
static inline void trace_stage(enum trace_stage stage, uint64_t mark)
{
	if (mark)
		trace_current->stage[stage] += clock_measure_ns() - mark;
}

#endif
