// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * storages.c - puts storages into the directory, as the configuration and the operator say.
 *
 * peers.c and reload.c apply the configuration; control/daemon.c calls peers_move() for the
 * operator.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "datanode/datanode.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "vreadif.h"

/* text: "DATANODE/STORAGE", length bytes. */
static int set_configured(struct peer *peer, const char *text, size_t length)
{
	struct message_storage s = {0};
	const char *slash = memchr(text, '/', length);
	size_t datanode = slash ? (size_t)(slash - text) : length;
	int r;

	if (!slash || datanode == 0 || datanode >= sizeof(s.datanode) || datanode + 1 == length ||
	    length - datanode - 1 >= sizeof(s.id))
		return -EINVAL;
	memcpy(s.datanode, text, datanode);
	memcpy(s.id, slash + 1, length - datanode - 1);
	r = directory_configure(peer->peers->directory, s.id, s.datanode, peer->number,
				peer->peers->configuration);
	return r == -EPERM ? 0 : r; /* -EPERM: the operator has moved the storage */
}

static int set_peer_configured(struct peer *peer, char **ret_error)
{
	const char *at = peer->config.storages;
	int r;

	while (*(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");

		r = set_configured(peer, at, length);
		if (r)
			return error_text(ret_error, r,
					  "[peer %s] storages: %.*s: expected DATANODE/STORAGE, at "
					  "most %u of them in all",
					  peer->config.name, (int)length, at, DIRECTORY_MAX);
		at += length;
	}
	return 0;
}

/* 0 or -ENOMEM. */
static int set_parties(struct peers *p)
{
	struct owners_pins *all = calloc(p->num_peers + 1, sizeof(*all));
	size_t count = 0;
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < p->num_peers; i++) {
		const struct peer *peer = p->peers[i];

		if (!peer->removed)
			all[count++] =
				(struct owners_pins){.name = peer->party,
						     .storages = peer->config.storages,
						     .is_silent = !peer->config.datanodes[0]};
	}
	if (!r)
		r = owners_configure(p->owners, OWNERS_PEERS, all, count);
	free(all);
	return r;
}

int peers_set_configured(struct peers *p, char **ret_error)
{
	int r = set_parties(p);

	*ret_error = NULL;
	p->configuration++;
	for (size_t i = 0; i < p->num_peers; i++) {
		char *error = NULL;
		int failed = p->peers[i]->removed ? 0 : set_peer_configured(p->peers[i], &error);

		if (failed && !r) {
			r = failed;
			*ret_error = error;
		} else {
			free(error);
		}
	}
	directory_end_configuration(p->directory, p->configuration);
	return r;
}

static int find_host(const struct peers *p, const char *host, int *ret)
{
	*ret = DIRECTORY_NOWHERE;
	if (!host)
		return 0;
	for (size_t i = 0; i < p->num_peers; i++)
		if (!p->peers[i]->removed && !strcmp(p->peers[i]->config.name, host)) {
			*ret = (int)i;
			return 0;
		}
	return -ENOENT;
}

static int note_name(void *ctx, struct datanode *dn)
{
	snprintf(ctx, MESSAGE_MAX_DATANODE + 1, "%s", datanode_name(dn));
	return 1;
}

/* The name of the storage's datanode; NULL: this host does not know it.  The result may be `name`,
 * which is filled in then. */
static const char *known_datanode(struct peers *p, const char *storage_id,
				  char name[MESSAGE_MAX_DATANODE + 1])
{
	struct directory_entry *e = directory_find(p->directory, storage_id);

	if (e)
		return directory_datanode(e);
	return registry_find_storage(block_store_registry(p->store), storage_id, note_name, name)
		       ? name
		       : NULL;
}

/* Records the move as the operator's word.  A peer that may announce nothing has no record. */
static int record_move(struct peers *p, const char *storage_id, int number)
{
	const struct peer *peer = number == DIRECTORY_NOWHERE ? NULL : p->peers[number];

	if (peer && !peer->config.datanodes[0])
		return 0;
	return registry_give(block_store_registry(p->store), storage_id, peer ? peer->party : NULL);
}

int peers_move(struct peers *p, const char *storage_id, const char *host)
{
	char name[MESSAGE_MAX_DATANODE + 1];
	const char *slash = strchr(storage_id, '/'), *datanode = name;
	int number, r = find_host(p, host, &number);
	struct directory_entry *e;

	if (r)
		return r;
	if (!slash) {
		datanode = known_datanode(p, storage_id, name);
	} else {
		if (slash == storage_id || (size_t)(slash - storage_id) >= sizeof(name))
			return -EINVAL;
		memcpy(name, storage_id, (size_t)(slash - storage_id));
		name[slash - storage_id] = '\0';
		storage_id = slash + 1;
	}
	if (!datanode || !storage_id[0] || strlen(storage_id) > VREAD_MAX_STORAGE_ID)
		return -EINVAL;
	e = slash || number == DIRECTORY_NOWHERE ? NULL : directory_find(p->directory, storage_id);
	if (e)
		datanode = directory_datanode_at(p->directory, e, number);
	r = record_move(p, storage_id, number);
	if (!r)
		r = directory_set(p->directory, storage_id, datanode, number, DIRECTORY_MOVED);
	if (!r)
		log_info("storage %s of %s: %s%s", storage_id, datanode,
			 host ? "now on peer " : "not on a peer any more", host ? host : "");
	return r;
}

void peers_forget_move(struct peers *p, const char *storage_id)
{
	directory_forget_move(p->directory, storage_id);
}
