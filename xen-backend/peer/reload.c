// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reload.c - adds, changes and removes peers while guests read from other peers.
 *
 * control/reload.c calls peers_reload(); peers.c adds and frees peers with the other functions.
 *
 * A struct peer is freed only with all peers, since handles and requests point at it.  A removed
 * peer has no address, no storage and no right, and the status does not show it.  Its name may be
 * configured again and then uses the same struct.  So the number of different names is bounded, but
 * not how often a name comes and goes.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datanode/registry.h"
#include "peer/answering/server.h"
#include "read/store.h"

void peer_free(struct peer *peer)
{
	streams_free(peer);
	pthread_mutex_destroy(&peer->lock);
	peer_config_free(&peer->config);
	free(peer);
}

int peers_add(struct peers *p, const struct peer_config *config)
{
	size_t number = atomic_load(&p->num_peers);
	struct peer *peer;
	int r;

	if (number == PEERS_MAX_EVER)
		return -ENOSPC;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	pthread_mutex_init(&peer->lock, NULL);
	peer->peers = p;
	peer->number = (int)number;
	snprintf(peer->party, sizeof(peer->party), "@%s", config->name);
	r = peer_config_copy(&peer->config, config) ? streams_new(peer) : -ENOMEM;
	if (!r && p->server)
		r = peer_server_set_client(p->server, number, config);
	if (r) {
		peer_free(peer);
		return r;
	}
	atomic_store(&peer->may_announce, config->datanodes[0]);
	p->peers[number] = peer;
	atomic_store(&p->num_peers, number + 1);
	return 0;
}

static struct peer *find(const struct peers *p, const char *name)
{
	for (size_t i = 0; i < p->num_peers; i++)
		if (!strcmp(p->peers[i]->config.name, name))
			return p->peers[i];
	return NULL;
}

static bool is_configured(const struct peers_config *c, const char *name)
{
	for (size_t i = 0; i < c->num_peers; i++)
		if (!strcmp(c->peers[i].name, name))
			return true;
	return false;
}

/* True if the peer needs a new connection: its address has changed, its bytes come another way, or
 * other announcements count now.  A peer announces its storages on each new connection. */
static bool needs_connection(const struct peer_config *was, const struct peer_config *is)
{
	return strcmp(was->address, is->address) || strcmp(was->datanodes, is->datanodes) ||
	       was->frames != is->frames ||
	       (is->datanodes[0] && strcmp(was->storages, is->storages));
}

/* Replaces the peer's settings.  Takes over the strings in *to. */
static void adopt(struct peer *peer, struct peer_config *to)
{
	struct peer_config *now = &peer->config, from = *now;
	bool anew = needs_connection(now, to);

	free(to->name);
	now->address = to->address;
	now->storages = to->storages;
	now->allow_datanodes = to->allow_datanodes;
	now->allow_pools = to->allow_pools;
	now->frames = to->frames;
	streams_set_frames(peer, to->frames);
	if (strcmp(now->datanodes, to->datanodes))
		peer_set_datanodes(peer, to->datanodes);
	else
		free(to->datanodes);
	if (anew)
		streams_set_address(peer, now->address);
	free(from.address);
	free(from.storages);
	free(from.allow_datanodes);
	free(from.allow_pools);
}

static int change(struct peer *peer, const struct peer_config *config)
{
	struct peers *p = peer->peers;
	struct peer_config copy;
	int r = peer_config_copy(&copy, config) ? 0 : -ENOMEM;

	if (r)
		return r;
	if (p->server)
		r = peer_server_set_client(p->server, (size_t)peer->number, config);
	if (r)
		peer_config_free(&copy);
	else
		adopt(peer, &copy);
	return r;
}

/* Removes the peer's rights first, then its address, then its storages. */
static int take_out(struct peer *peer)
{
	struct peers *p = peer->peers;
	const struct peer_config nothing = {peer->config.name, "", "", "", "", "", 0, false};
	struct peer_config copy;

	if (!peer_config_copy(&copy, &nothing))
		return -ENOMEM;
	if (p->server)
		peer_server_remove_client(p->server, (size_t)peer->number);
	adopt(peer, &copy);
	directory_forget(p->directory, peer->number);
	peer->removed = true;
	return 0;
}

static void note(const struct changes *changes, const char *name, const char *done, int error)
{
	if (error == -ENOSPC)
		done = "not added: there were too many names since vreadd was started; restart "
		       "vreadd";
	else if (error)
		done = "out of memory: nothing was changed";
	changes_add(changes, error == 0, json_sprintf("[peer %s]: %s", name, done));
}

static void remove_others(struct peers *p, const struct peers_config *c,
			  const struct changes *changes)
{
	for (size_t i = 0; i < p->num_peers; i++) {
		struct peer *peer = p->peers[i];

		if (!peer->removed && !is_configured(c, peer->config.name))
			note(changes, peer->config.name, "removed", take_out(peer));
	}
}

static void apply(struct peers *p, const struct peer_config *config, const struct changes *changes)
{
	struct peer *peer = find(p, config->name);
	int r;

	if (!peer) {
		note(changes, config->name, "added", peers_add(p, config));
	} else if (peer->removed) {
		r = change(peer, config);
		peer->removed = r != 0;
		note(changes, config->name, "added", r);
	} else if (!peer_config_same(&peer->config, config)) {
		note(changes, config->name, "changed", change(peer, config));
	}
}

void peers_reload(struct peers *p, const struct peers_config *config, const struct changes *changes)
{
	size_t before = json_array_size(changes->made) + json_array_size(changes->failed);
	char *error = NULL;

	remove_others(p, config, changes);
	for (size_t i = 0; i < config->num_peers; i++)
		apply(p, &config->peers[i], changes);
	if (json_array_size(changes->made) + json_array_size(changes->failed) == before)
		return;
	if (peers_set_configured(p, &error))
		changes_add(changes, false, json_string(error ? error : "out of memory"));
	free(error);
	peers_learn(p);
	registry_peers_changed(block_store_registry(p->store));
}
