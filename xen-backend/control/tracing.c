// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tracing.c - answers the command "trace" of the control socket.
 *
 * Called by control.c.  The records come from base/trace.h and are converted to JSON here.
 */
#include "control/tracing.h"

#include <stdlib.h>

#include "base/trace.h"
#include "vreadif.h"

#define MOST 1024 /* records in one answer */

static const char *operation_name(uint8_t operation)
{
	static const char *const names[] = {
		[VREAD_OP_OPEN] = "open",       [VREAD_OP_READ] = "read",
		[VREAD_OP_CLOSE] = "close",     [VREAD_OP_STAT] = "stat",
		[VREAD_OP_PUBLISH] = "publish", [VREAD_OP_KEYS] = "keys",
	};

	return operation < sizeof(names) / sizeof(names[0]) && names[operation] ? names[operation]
										: "other";
}

static json_t *record_json(const struct trace_record *r)
{
	static const char *const names[TRACE_STAGES] = {
		[TRACE_FIND] = "find",     [TRACE_CACHE] = "cache", [TRACE_READ] = "read",
		[TRACE_VERIFY] = "verify", [TRACE_CHECK] = "check", [TRACE_COPY] = "copy",
		[TRACE_REMOTE] = "remote",
	};
	json_t *stages = json_object();

	for (unsigned i = 0; i < TRACE_STAGES; i++)
		if (r->stage[i])
			json_object_set_new(stages, names[i],
					    json_integer((json_int_t)r->stage[i]));
	return json_pack("{s:I, s:s, s:s, s:i, s:I, s:o}", "sequence", (json_int_t)r->sequence,
			 "device", r->device, "operation", operation_name(r->operation), "status",
			 (int)r->status, "ns", (json_int_t)(r->ended - r->begun), "stages", stages);
}

/* True if number is an integer from 0 to most, or is absent (NULL). */
static bool is_in(const json_t *number, int64_t most)
{
	return !number || (json_is_integer(number) && json_integer_value(number) >= 0 &&
			   json_integer_value(number) <= most);
}

json_t *tracing_answer(const json_t *request)
{
	const json_t *seconds = json_object_get(request, "seconds");
	const json_t *after = json_object_get(request, "after");
	struct trace_record *records;
	uint64_t last;
	json_t *array;
	size_t n;

	if (!is_in(seconds, TRACE_MAX_SECONDS) || !is_in(after, INT64_MAX))
		return json_pack(
			"{s:s}", "error",
			"expected a number \"seconds\" from 0 to 60, and a number \"after\"");
	records = calloc(MOST, sizeof(*records));
	if (!records || (seconds && trace_start((unsigned)json_integer_value(seconds)))) {
		free(records);
		return json_pack("{s:s}", "error", "out of memory");
	}
	n = trace_copy(after ? (uint64_t)json_integer_value(after) : UINT64_MAX, records, MOST,
		       &last);
	array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, record_json(&records[i]));
	free(records);
	return json_pack("{s:o, s:I}", "records", array, "last", (json_int_t)last);
}
