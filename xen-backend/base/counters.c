// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of requests and answers; see counters.h.  Workers of ring/ and peer/ add, the control
 * thread reads.
 */
#include "base/counters.h"

#include <string.h>

#include "vread-ring-user.h"

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void counters_response(struct counters *c, uint8_t operation, int32_t status)
{
	if (status < 0) {
		if (-status < COUNTERS_MAX_ERRNO)
			add(&c->errors[-status], 1);
		return;
	}
	if (operation == VREAD_OP_OPEN)
		add(&c->opens, 1);
	if (operation == VREAD_OP_READ) {
		add(&c->reads, 1);
		add(&c->bytes, (uint64_t)status);
	}
	if (operation == VREAD_OP_PUBLISH)
		add(&c->published, 1);
}

void counters_remote(struct counters *c, uint8_t operation, int32_t status)
{
	if (status < 0)
		return;
	if (operation == VREAD_OP_OPEN)
		add(&c->remote_opens, 1);
	if (operation == VREAD_OP_READ) {
		add(&c->remote_reads, 1);
		add(&c->remote_bytes, (uint64_t)status);
	}
}

void counters_add(struct counters *sum, const struct counters *c)
{
	add(&sum->opens, get(&c->opens));
	add(&sum->reads, get(&c->reads));
	add(&sum->bytes, get(&c->bytes));
	add(&sum->remote_opens, get(&c->remote_opens));
	add(&sum->remote_reads, get(&c->remote_reads));
	add(&sum->remote_bytes, get(&c->remote_bytes));
	add(&sum->published, get(&c->published));
	for (int e = 0; e < COUNTERS_MAX_ERRNO; e++)
		add(&sum->errors[e], get(&c->errors[e]));
}

static json_t *number(const _Atomic uint64_t *counter)
{
	return json_integer((json_int_t)get(counter));
}

json_t *counters_json(const struct counters *c)
{
	json_t *errors = json_object();

	for (int e = 1; e < COUNTERS_MAX_ERRNO; e++) {
		const char *name = strerrorname_np(e);
		uint64_t n = get(&c->errors[e]);

		if (n && name)
			json_object_set_new(errors, name, json_integer((json_int_t)n));
	}
	return json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o}", "opens", number(&c->opens),
			 "reads", number(&c->reads), "bytes", number(&c->bytes), "remote", "opens",
			 number(&c->remote_opens), "reads", number(&c->remote_reads), "bytes",
			 number(&c->remote_bytes), "published", number(&c->published), "errors",
			 errors);
}
