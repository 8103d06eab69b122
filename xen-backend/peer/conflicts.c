// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conflicts.c - tells the operator which storages a peer announces that belong to another: to a
 * peer that announced them first, or to a datanode of this host.
 *
 * peers.c calls peers_tell_conflicts() for the status.
 */
#include "peer/peers_private.h"

#include "datanode/registry.h"
#include "read/store.h"

#define MOST_TOLD 16U /* for each peer */

struct telling {
	struct peers *peers;
	json_t *const *all;
};

/* Takes over has. */
static void tell(const struct telling *t, int peer, const char *storage_id, json_t *has)
{
	json_t *o = t->all[peer], *conflicts = json_object_get(o, "conflicts");

	if (o && !conflicts) {
		conflicts = json_array();
		json_object_set_new(o, "conflicts", conflicts);
	}
	if (o && json_array_size(conflicts) < MOST_TOLD)
		json_array_append_new(conflicts,
				      json_pack("{s:s, s:O}", "storage", storage_id, "has", has));
	json_decref(has);
}

static void tell_rival(void *ctx, const char *storage_id, int rival, int peer)
{
	const struct telling *t = ctx;

	tell(t, rival, storage_id, json_sprintf("peer %s", t->peers->peers[peer]->config.name));
}

static int tell_own(void *ctx, const char *datanode, const char *storage_id)
{
	const struct telling *t = ctx;
	struct directory_entry *e = directory_find(t->peers->directory, storage_id);
	int peer = e && directory_is_announced(e) ? directory_peer(e) : DIRECTORY_NOWHERE;

	if (peer != DIRECTORY_NOWHERE)
		tell(t, peer, storage_id, json_sprintf("datanode %s", datanode));
	return 0;
}

void peers_tell_conflicts(struct peers *p, json_t *const *all)
{
	struct telling t = {p, all};

	directory_each_rival(p->directory, tell_rival, &t);
	registry_each_storage(block_store_registry(p->store), tell_own, &t);
}
