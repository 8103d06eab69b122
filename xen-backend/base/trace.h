/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h - how long each stage of single requests takes, for `xl-vread trace`.  The workers of
 * ring/ and the reads of read/ record; control/tracing.c reads the records.
 *
 * If tracing is off, it costs a request one relaxed load, and a stage one look at a pointer of the
 * thread.  If tracing is on, it costs a request two readings of the clock, two more per stage, and
 * a lock at the end of the request.  Tracing goes off by itself.
 *
 * A request is traced by the thread that carries it out.  Work of other threads for the request
 * counts to the stage that waits for it.
 */
#ifndef VREAD_BASE_TRACE_H
#define VREAD_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum trace_stage {
	TRACE_FIND,   /* OPEN: find the block's files and check them */
	TRACE_CACHE,  /* the verified cache, hit or not */
	TRACE_READ,   /* data and checksums, out of the image or the page cache */
	TRACE_VERIFY, /* checksums */
	TRACE_CHECK,  /* check that the replica is still the same */
	TRACE_COPY,   /* copy to where the guest sees it */
	TRACE_REMOTE, /* another host's answer, with that host's stages in it */
	TRACE_STAGES,
};

struct trace_record {
	uint64_t sequence; /* from 1 */
	char device[80];
	uint8_t operation; /* VREAD_OP_* */
	int32_t status;
	uint64_t begun, ended;        /* ns of clock_measure_ns(): taken from the ring, answered */
	uint64_t stage[TRACE_STAGES]; /* ns; stages do not overlap */
};

#define TRACE_RECORDS 4096U /* records that are kept; older ones are lost */
#define TRACE_MAX_SECONDS 60U

/* Only for the functions below. */
extern atomic_bool trace_enabled;
extern _Thread_local struct trace_record *trace_current;

/* Turns tracing on for so many seconds, at most TRACE_MAX_SECONDS; 0 seconds: off.  Returns 0 or
 * -ENOMEM. */
int trace_start(unsigned seconds);
/* Copies up to max records with a sequence above after, oldest first.  Returns how many.
 * *ret_last: the sequence of the last record at this moment; 0: there is none.  Any thread. */
size_t trace_copy(uint64_t after, struct trace_record *records, size_t max, uint64_t *ret_last);

/* Adds record to the records that are kept.  The request ended now. */
void trace_keep(struct trace_record *record, const char *device, uint8_t operation, int32_t status);

/* If tracing is on, adds this thread's stages to record until trace_end(), and returns true. */
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

/* Returns the beginning of a stage; 0: this thread traces nothing. */
static inline uint64_t trace_mark(void)
{
	return trace_current ? clock_measure_ns() : 0;
}

/* Ends the stage that began at mark, a value of trace_mark(). */
static inline void trace_stage(enum trace_stage stage, uint64_t mark)
{
	if (mark)
		trace_current->stage[stage] += clock_measure_ns() - mark;
}

#endif
