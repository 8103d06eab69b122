/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - answers other hosts out of what is served here.
 *
 * One thread accepts, authenticates and receives; a few workers read and send.  Connections take
 * turns, so one that asks much delays the others by one piece each.  A connection that takes
 * what it asked for slowly, or not at all, costs some buffers for a while, never a worker.
 *
 * All functions belong to the control thread.
 */
#ifndef VREAD_PEER_SERVER_H
#define VREAD_PEER_SERVER_H

#include <jansson.h>

#include "peer/settings.h"

struct block_store;
struct peer_server;
struct rdma;
struct tls_context;

/* Listens.  config and store outlive the server.  rdma: NULL: not to be used.  0, or negative errno
 * with *ret_error. */
int peer_server_start(const struct peers_config *config, struct block_store *store,
		      struct tls_context *tls, struct rdma *rdma, struct peer_server **ret,
		      char **ret_error);
void peer_server_stop(struct peer_server *s); /* NULL is ignored */

/* That peer is what config, which is copied, says; it is the next that none was told of, or one of those before.
 * What it has open and may not read any more it is not answered from here on.  0, or -ENOMEM: nothing
 * was changed. */
int peer_server_set_client(struct peer_server *s, size_t peer, const struct peer_config *config);
/* It may read nothing from here on, and its connections are ended soon. */
void peer_server_remove_client(struct peer_server *s, size_t peer);

/* What a peer, by its place in config or the number it was set with, was answered; adds to o: connections, open_handles, opens, reads,
 * bytes, errors ({"ENOENT": 3}). */
void peer_server_client_status(struct peer_server *s, size_t peer, json_t *o);
/* New reference: address, connections, buffers and how many of them are used, refused,
 * last_refused. */
json_t *peer_server_status(struct peer_server *s);

#endif
