// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peers.c - start, end and status of the peers.
 *
 * Called by control/daemon.c and control/reload.c (peer.h).
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/timer.h"
#include "datanode/registry.h"
#include "peer/answering/server.h"
#include "peer/rdma/rdma.h"
#include "read/store.h"
#include "peer/wire/tls.h"
#include "peer/wire/tls_suite.h"

static int add_configured(struct peers *p, const struct peer_config *config, char **ret_error)
{
	int r = peers_add(p, config);

	if (r == -EINVAL)
		return error_text(ret_error, r, "[peer %s] address: %s: expected IP:PORT",
				  config->name, config->address);
	return r ? error_text(ret_error, r, "[peer %s]: %s", config->name, strerror(-r)) : 0;
}

static int find_rdma(struct peers *p, char **ret_error)
{
	int r = rdma_new(&p->rdma);

	if (r == 0)
		return 0;
	if (!(p->config->transports & MESSAGE_TRANSPORT_TLS))
		return error_text(ret_error, r,
				  "[peers] transports: rdma: this host has no RDMA: expected an "
				  "adapter and the module rdma_ucm, or tcp");
	log_warn("[peers] transports: this host has no RDMA: tcp is used");
	return 0;
}

/* True if the storage, which the peer announces, is the peer's. */
static bool is_peers(void *ctx, int peer, const char *storage_id)
{
	const struct peers *p = ctx;

	return owners_keep(p->owners, p->peers[peer]->party, storage_id);
}

int peers_new(const struct peers_config *config, struct block_store *store, struct peers **ret,
	      char **ret_error)
{
	struct peers *p = calloc(1, sizeof(*p));
	int r = 0;

	*ret_error = NULL;
	if (p) {
		p->config = config;
		p->store = store;
		p->owners = registry_owners(block_store_registry(store));
		p->directory =
			directory_new(PEERS_MAX_EVER,
				      &(struct directory_judge){is_peers, p,
								owners_generation(p->owners)});
	}
	if (!p || !p->directory)
		r = error_text(ret_error, -ENOMEM, "out of memory");
	if (!r && config->name[0])
		r = tls_context_new(config, &p->tls, ret_error);
	if (!r && p->tls && (config->transports & MESSAGE_TRANSPORT_RDMA))
		r = find_rdma(p, ret_error);
	for (size_t i = 0; !r && i < config->num_peers; i++)
		r = add_configured(p, &config->peers[i], ret_error);
	if (!r)
		r = peers_set_configured(p, ret_error);
	if (!r)
		owners_unsettle(p->owners, OWNERS_PEERS); /* until peers_start() */
	if (r)
		peers_free(p);
	else
		*ret = p;
	return r;
}

int peers_start(struct peers *p, sd_event *event, char **ret_error)
{
	int r = 0;

	*ret_error = NULL;
	if (p->config->listen[0])
		r = peer_server_start(p->config, p->store, p->tls, p->rdma, &p->server, ret_error);
	p->event = event;
	return r ? r : peers_learn(p);
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	timer_free(p->learn);
	peer_server_stop(p->server);
	for (size_t i = 0; i < p->num_peers; i++)
		peer_free(p->peers[i]);
	directory_free(p->directory);
	rdma_free(p->rdma);
	tls_context_free(p->tls);
	free(p);
}

int peers_reload_credentials(struct peers *p, char **ret_error)
{
	*ret_error = NULL;
	return p->tls ? tls_context_reload(p->tls, ret_error) : 0;
}

static json_t *peer_status(struct peer *peer)
{
	struct peers *p = peer->peers;
	json_t *o = json_pack("{s:s, s:s?}", "name", peer->config.name, "address",
			      peer->config.address[0] ? peer->config.address : NULL);
	json_t *counters = counters_json(&peer->counters), *asked_of_us = json_object();

	streams_status(peer, o);
	json_object_del(counters, "published");
	json_object_set_new(counters, "open_handles", json_integer(atomic_load(&peer->handles)));
	json_object_set_new(o, "asked", counters);
	json_object_set_new(o, "storages",
			    json_integer((json_int_t)directory_count(p->directory, peer->number)));
	json_object_set_new(o, "announced",
			    json_integer((json_int_t)atomic_load(&peer->announced)));
	json_object_set_new(o, "announcements_refused",
			    json_integer((json_int_t)atomic_load(&peer->refused)));
	json_object_set_new(o, "heard", json_boolean(atomic_load(&peer->heard)));
	if (p->server)
		peer_server_client_status(p->server, (size_t)peer->number, asked_of_us);
	json_object_set_new(o, "answered", asked_of_us);
	return o;
}

json_t *peers_status(struct peers *p)
{
	json_t *o = json_object(), *all = json_array(), *each[PEERS_MAX_EVER] = {0};

	for (size_t i = 0; i < p->num_peers; i++)
		if (!p->peers[i]->removed) {
			each[i] = peer_status(p->peers[i]);
			json_array_append_new(all, each[i]);
		}
	peers_tell_conflicts(p, each);
	json_object_set_new(o, "server", p->server ? peer_server_status(p->server) : json_null());
	json_object_set_new(o, "cipher", p->tls ? json_string(tls_suite_first()) : json_null());
	json_object_set_new(o, "peers", all);
	return o;
}
