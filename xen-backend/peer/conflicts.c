// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conflicts.c - tells the operator which storages a peer announces and does not have
 * (datanode/owners.h), whose they are, and what to do.
 *
 * peers.c calls peers_tell_conflicts() for the status.
 */
#include "peer/peers_private.h"

#include <stdlib.h>

#include "datanode/owners.h"

#define MOST_TOLD 16U /* for each peer */

struct telling {
	struct peers *peers;
	json_t *const *all;
};

static json_t *conflict(enum owners_verdict verdict, const char *party, const char *other,
			const char *storage_id)
{
	char *problem, *remedy;
	json_t *o;

	owners_explain(verdict, party, other, storage_id, &problem, &remedy);
	o = json_pack("{s:s, s:s, s:s*, s:s*}", "storage", storage_id, "because",
		      owners_because(verdict), "problem", problem, "remedy", remedy);
	free(problem);
	free(remedy);
	return o;
}

static void tell(void *ctx, const char *storage_id, int peer)
{
	const struct telling *t = ctx;
	const char *party = t->peers->peers[peer]->party;
	json_t *o = t->all[peer], *conflicts = json_object_get(o, "conflicts");
	char other[OWNERS_MAX_NAME + 1];
	enum owners_verdict verdict = owners_judge(t->peers->owners, party, storage_id, other);

	if (!o || verdict == OWNERS_ITS || verdict == OWNERS_AWAITED ||
	    json_array_size(conflicts) == MOST_TOLD)
		return;
	if (!conflicts) {
		conflicts = json_array();
		json_object_set_new(o, "conflicts", conflicts);
	}
	json_array_append_new(conflicts, conflict(verdict, party, other, storage_id));
}

void peers_tell_conflicts(struct peers *p, json_t *const *all)
{
	struct telling t = {p, all};

	directory_each_announced(p->directory, tell, &t);
}
