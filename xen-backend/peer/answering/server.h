/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - answers other hosts from the replicas that are served here.  peers.c and reload.c
 * call these functions.
 *
 * One thread accepts, authenticates and receives.  A few workers read and send.  Connections
 * take turns, so a connection that asks for much delays each other connection by one piece
 * only.  A connection that takes its answers slowly, or not at all, holds some buffers for a
 * while, but never a worker.
 *
 * Threads: the control thread calls all functions.
 */
#ifndef VREAD_PEER_SERVER_H
#define VREAD_PEER_SERVER_H

#include <jansson.h>

#include "peer/settings.h"

struct block_store;
struct peer_server;
struct rdma;
struct tls_context;

/* Starts to listen.  config and store must outlive the server.  rdma: NULL: do not use RDMA.  0,
 * or negative errno with *ret_error (free() it). */
int peer_server_start(const struct peers_config *config, struct block_store *store,
		      struct tls_context *tls, struct rdma *rdma, struct peer_server **ret,
		      char **ret_error);
void peer_server_stop(struct peer_server *s); /* s: NULL is ignored */

/* Sets who peer number `peer` is and what it may read, from config, which is copied.  peer is a
 * number that was set before, or the lowest number that was not.  What the peer has open and may
 * not read any more is not answered from here on.  0, or -ENOMEM: nothing was changed. */
int peer_server_set_client(struct peer_server *s, size_t peer, const struct peer_config *config);
/* The peer may read nothing from here on, and its connections are ended soon. */
void peer_server_remove_client(struct peer_server *s, size_t peer);

/* Adds to o what a peer was answered: connections, open_handles, opens, reads, bytes, errors
 * ({"ENOENT": 3}).  peer: its place in config, or the number it was set with. */
void peer_server_client_status(struct peer_server *s, size_t peer, json_t *o);
/* New reference: listen (the address), connections, buffers, buffers_used, refused (connections)
 * last_refused (why; of those that sent something) and strangers: waiting (connections that are not
 * authenticated yet) and ended (how such connections ended, and how many). */
json_t *peer_server_status(struct peer_server *s);

#endif
