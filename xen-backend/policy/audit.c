// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements audit.h. */
#include "policy/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/waiting.h"

static atomic_bool is_on;

void audit_set(bool on)
{
	atomic_store(&is_on, on);
}

static const char *outcome(int status)
{
	if (status == 0)
		return "opened";
	return status == -EINPROGRESS ? "asked of another host" : strerrorname_np(-status);
}

void audit_open(const struct audit_open *o)
{
	const char *said = outcome(o->status);
	char user[16] = "unknown", block[24];
	const struct log_field fields[] = {{"VREAD_USER", user},
					   {"VREAD_POOL", o->pool_id},
					   {"VREAD_BLOCK", block},
					   {"VREAD_OUTCOME", said ? said : "error"}};

	if (!atomic_load_explicit(&is_on, memory_order_relaxed))
		return;
	waiting_announce(); /* for a journal that is behind */
	if (o->user)
		snprintf(user, sizeof(user), "%" PRIu32, o->user - 1);
	snprintf(block, sizeof(block), "%" PRId64, o->block_id);
	log_record(o->device ? LOG_EVENT_OPENED : LOG_EVENT_OPENED_BY_PEER,
		   o->device ? o->device : o->peer, fields, sizeof(fields) / sizeof(fields[0]),
		   "audit: user %s, block %s of pool %s: %s", user, block, o->pool_id,
		   fields[3].value);
}
