// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last traced requests, in a ring of fixed size; see trace.h.  The workers of ring/ add
 * records, control/tracing.c copies them.
 */
#include "base/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

atomic_bool trace_enabled;
_Thread_local struct trace_record *trace_current;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace_record *records; /* TRACE_RECORDS, from the first trace_start() on */
static uint64_t last;                /* sequence */
static uint64_t until;               /* ms */

int trace_start(unsigned seconds)
{
	int r = 0;

	if (seconds > TRACE_MAX_SECONDS)
		seconds = TRACE_MAX_SECONDS;
	pthread_mutex_lock(&lock);
	if (!records)
		records = calloc(TRACE_RECORDS, sizeof(*records));
	until = clock_ms() + 1000ULL * seconds;
	if (!records)
		r = -ENOMEM;
	else
		atomic_store_explicit(&trace_enabled, seconds > 0, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return r;
}

void trace_keep(struct trace_record *record, const char *device, uint8_t operation, int32_t status)
{
	snprintf(record->device, sizeof(record->device), "%s", device);
	record->operation = operation;
	record->status = status;
	record->ended = clock_measure_ns();
	pthread_mutex_lock(&lock);
	if (clock_ms() > until)
		atomic_store_explicit(&trace_enabled, false, memory_order_relaxed);
	record->sequence = ++last;
	records[last % TRACE_RECORDS] = *record;
	pthread_mutex_unlock(&lock);
}

size_t trace_copy(uint64_t after, struct trace_record *copies, size_t max, uint64_t *ret_last)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	if (last > TRACE_RECORDS && after < last - TRACE_RECORDS)
		after = last - TRACE_RECORDS;
	while (records && n < max && after < last)
		copies[n++] = records[++after % TRACE_RECORDS];
	*ret_last = last;
	pthread_mutex_unlock(&lock);
	return n;
}
