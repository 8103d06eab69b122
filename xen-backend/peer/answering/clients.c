// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clients.c - the peers that may ask, and what they may read.  server.c makes and frees
 * clients, and reload.c changes them; receiver.c looks for the client of a new connection.
 *
 * The configuration may change clients while they are connected.  A client stays in its place
 * until the server ends, because connections and workers point at it.  A client that is no
 * longer configured may read nothing and connect no more; it may be configured again later.
 * answer.c checks what a client may read for every answer.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "peer/wire/tls.h"
#include "policy/policy.h"

static void client_free(struct client *c)
{
	policy_free(c->policy);
	free(c->name);
	free(c);
}

/* Takes over policy. */
static int add_client(struct peer_server *s, const char *name, struct policy *policy)
{
	struct client *c = calloc(1, sizeof(*c));
	size_t count = atomic_load(&s->num_clients);

	if (c)
		c->name = strdup(name);
	if (!c || !c->name || count == PEERS_MAX_EVER) {
		free(c ? c->name : NULL);
		free(c);
		policy_free(policy);
		return -ENOMEM;
	}
	c->policy = policy;
	s->clients[count] = c;
	atomic_store(&s->num_clients, count + 1);
	return 0;
}

/* Wakes the receiver: it ends connections of removed clients, and tells the others what they may
 * read. */
static void wake_receiver(struct peer_server *s)
{
	uint64_t one = 1;

	if (s->wake >= 0 && write(s->wake, &one, sizeof(one)) < 0)
		log_warn("peers: %s", strerror(errno));
}

/* With an address the client's connections have room of their own (strangers.c). */
static void set_source(struct client *c, const char *address)
{
	struct address parsed;

	atomic_store(&c->source, address_parse(address, &parsed) ? address_source(&parsed) : 0);
}

int peer_server_set_client(struct peer_server *s, size_t peer, const struct peer_config *config)
{
	const char *error;
	struct policy *policy =
		policy_new(POLICY_CLIENT, config->allow_datanodes, config->allow_pools, &error);
	int r = 0;

	if (!policy) {
		log_error("[peer %s]: expected %s", config->name, error);
		return -ENOMEM; /* the lists were checked when the configuration was read */
	}
	if (peer < atomic_load(&s->num_clients)) {
		policy_replace(s->clients[peer]->policy, policy);
		atomic_store(&s->clients[peer]->removed, false);
	} else {
		r = add_client(s, config->name, policy);
	}
	if (!r) {
		set_source(s->clients[peer], config->address);
		atomic_store(&s->clients[peer]->frames, config->frames);
	}
	wake_receiver(s);
	return r;
}

void peer_server_remove_client(struct peer_server *s, size_t peer)
{
	struct client *c = s->clients[peer];
	const char *error;
	struct policy *nothing = policy_new(POLICY_CLIENT, NULL, NULL, &error);

	atomic_store(&c->removed, true);
	atomic_store(&c->frames, 0);
	atomic_store(&c->source, 0);
	if (nothing)
		policy_replace(c->policy, nothing);
	wake_receiver(s);
}

int server_make_clients(struct peer_server *s, char **ret_error)
{
	int r = 0;

	for (size_t i = 0; !r && i < s->config->num_peers; i++)
		r = peer_server_set_client(s, i, &s->config->peers[i]);
	return r ? error_text(ret_error, r, "out of memory") : 0;
}

void server_free_clients(struct peer_server *s)
{
	for (size_t i = 0; i < atomic_load(&s->num_clients); i++)
		client_free(s->clients[i]);
}

struct client *server_find_client(struct peer_server *s, const struct tls *tls)
{
	struct client *found = NULL;
	size_t count = atomic_load(&s->num_clients);

	for (size_t i = 0; i < count; i++) {
		if (atomic_load(&s->clients[i]->removed) || !tls_is_named(tls, s->clients[i]->name))
			continue;
		if (found)
			return NULL;
		found = s->clients[i];
	}
	return found;
}
