// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * announce.c - tells a peer which storages it may read here: when the peer has connected, and
 * whenever the storages have changed.  requests.c and receiver.c call these functions.
 *
 * The receiver looks for changes now and then, so several changes are told as one.  A peer that
 * is slow to take what it is sent is told later, so no more than one list waits for it.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datanode/registry.h"
#include "read/store.h"
#include "policy/policy.h"
#include "vreadif.h"

struct listing {
	const struct policy *policy;
	struct message_storage *storages;
	size_t count;
};

static int add_storage(void *ctx, const char *datanode, const char *storage_id)
{
	struct listing *list = ctx;
	struct message_storage *grown;

	if (!policy_allows_datanode(list->policy, datanode) || !datanode[0] || !storage_id[0] ||
	    strlen(datanode) > MESSAGE_MAX_DATANODE || strlen(storage_id) > VREAD_MAX_STORAGE_ID)
		return 0;
	grown = reallocarray(list->storages, list->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->storages = grown;
	snprintf(grown[list->count].datanode, sizeof(grown->datanode), "%s", datanode);
	snprintf(grown[list->count].id, sizeof(grown->id), "%s", storage_id);
	list->count++;
	return 0;
}

int conn_announce(struct conn *c)
{
	struct listing list = {.policy = c->client->policy};
	uint8_t message[MESSAGE_MAX];
	int r = registry_each_storage(block_store_registry(c->server->store), add_storage, &list);
	size_t sent = 0, count;

	while (!r) {
		count = list.count - sent;
		r = transport_send_copy(c->transport, message,
					message_put_storages(message, list.storages + sent, &count,
							     false));
		sent += count;
		if (sent == list.count)
			break;
	}
	free(list.storages);
	return r;
}

static int add_to_digest(void *ctx, const char *datanode, const char *storage_id)
{
	return EVP_DigestUpdate(ctx, datanode, strlen(datanode) + 1) == 1 &&
			       EVP_DigestUpdate(ctx, storage_id, strlen(storage_id) + 1) == 1
		       ? 0
		       : -ENOMEM;
}

bool server_storages_changed(struct peer_server *s)
{
	uint8_t now[SERVER_DIGEST];
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	bool changed =
		digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
		registry_each_storage(block_store_registry(s->store), add_to_digest, digest) == 0 &&
		EVP_DigestFinal_ex(digest, now, NULL) == 1 &&
		memcmp(now, s->listed, sizeof(now)) != 0;

	EVP_MD_CTX_free(digest);
	if (changed)
		memcpy(s->listed, now, sizeof(now));
	return changed;
}

void server_notice_change(struct peer_server *s)
{
	if (server_storages_changed(s))
		for (struct conn *c = s->conns; c; c = c->next)
			c->announce_due = true;
}

int conn_announce_change(struct conn *c)
{
	int r = 0;

	if (!c->have_hello || !c->announce_due)
		return 0;
	pthread_mutex_lock(&c->lock);
	if (!c->blocked) {
		c->announce_due = false;
		r = conn_announce(c);
		conn_flush(c);
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}
