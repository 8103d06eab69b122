/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - blocks that lie on other hosts.
 *
 * A peer is the vreadd of another host.  It is asked for a block only if the
 * directory (directory.h) says that it holds one of the replicas wanted; it finds,
 * reads and verifies the bytes as it does for its own guests, under what its
 * configuration allows this host, and its bytes go straight into the pool of the
 * guest that asked.  There are two ways for bytes: RDMA, where both hosts have it, and
 * TCP; who a peer is, is proved by TLS 1.3 certificates in both (asking/link.h).
 *
 * Nothing here waits: an operation is begun, and its end is told once, on a
 * thread of the peer's link.  It ends in bounded time whatever the peer does: what is overdue
 * fails with -ENODEV (OPEN) or -EAGAIN (others), and if the peer answers nothing else either, so
 * does all that is under way on its link; the next operation makes a new one, after a pause that
 * grows.  Guests take turns on a link.
 *
 * Threads: any function on any thread, except that new, start and free are the control
 * thread's.  Errors: negative errno as listed in vreadif.h.
 */
#ifndef VREAD_PEER_H
#define VREAD_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "read/block.h"

struct peers;
struct peer_pool;   /* a guest's mapped pool, as the target of what peers send */
struct peer_handle; /* an open block on another host */

struct peers_config; /* peer/settings.h: [peers], [peer NAME] */

/* The store is what is served to others.  0, -ENOMEM, or an error with *ret_error (free() it). */
int peers_new(const struct peers_config *config, struct block_store *store, struct peers **ret,
	      char **ret_error);
/* Listens, if configured so; link threads start with the first use of a peer. */
int peers_start(struct peers *p, sd_event *event, char **ret_error);
/* Every pool must have been removed. */
void peers_free(struct peers *p);

/* Peers are what config says from here on; of the rest of it nothing counts.  Each change is appended to changes, as
 * a text.  Readers of peers that stay as they are notice nothing.  What is under way on one that is removed, or has
 * another address or other datanodes, or other storages and may announce more, ends at once with -EAGAIN (OPEN: the next peer is asked, else
 * -ENODEV), and so do handles open there.  What peers may not
 * read any more they are not answered from here on, but for what is on its way to them already.  The control thread's; config need not outlive the call. */
void peers_reload(struct peers *p, const struct peers_config *config, json_t *changes);

/* Reads this host's certificate, key, authority and revocation list again, now; by itself that is done
 * within a second after the files changed, if anybody is or gets connected.  New connections use what was read,
 * and who would not be accepted any more is disconnected.  0, or negative errno with *ret_error (free() it):
 * what was read before stays in use.  Any thread. */
int peers_reload_credentials(struct peers *p, char **ret_error);

/* New reference: "peers" of the status document, control/control.h. */
json_t *peers_status(struct peers *p);

/* That storage is on that host (a [peer] section's name; NULL: not on a peer any more) from now on;
 * handles open elsewhere, and what is under way of them, fail with -EAGAIN.  0, -ENOENT no such peer, -EINVAL. */
int peers_move(struct peers *p, const char *storage_id, const char *host);

/* base stays mapped until peer_pool_free(), which returns only when nothing a peer sends can land
 * in it any more. */
int peer_pool_new(struct peers *p, uint8_t *base, size_t length, struct peer_pool **ret);
/* Every operation under way for it ends soon, whatever its peer does, and later ones fail: with
 * -EAGAIN.  By RDMA, within LINK_CANCEL_TIMEOUT; else at once.  Any thread; does not wait.  Called before the pool's guest is waited for. */
void peer_pool_stop(struct peer_pool *pool);
/* No operation may be under way for it, and its handles are closed. */
void peer_pool_free(struct peer_pool *pool);

/* Whether the name has candidates, and all of them are known to be on peers. */
bool peers_have(struct peers *p, const struct block_name *name);

/* result: as block_open() or block_read() return it. */
typedef void peer_opened_fn(void *ctx, int result, struct peer_handle *handle,
			    const struct block_info *info);
typedef void peer_done_fn(void *ctx, ssize_t result);
typedef void peer_stat_fn(void *ctx, int result, const struct block_info *info);

/* -ENODEV: no peer is known to hold one of the storages, or none of those that do may be
 * used by policy; -EAGAIN: too many are under way for that pool; done is not called then, nor after
 * any other error. */
int peer_open(struct peers *p, struct peer_pool *pool, const struct policy *policy,
	      const struct block_name *name, peer_opened_fn *done, void *ctx);
/* offset_in_pool: where the bytes go, of length at most VREAD_MAX_READ. */
int peer_read(struct peer_handle *h, uint64_t offset, size_t offset_in_pool, uint32_t length,
	      peer_done_fn *done, void *ctx);
int peer_stat(struct peer_handle *h, peer_stat_fn *done, void *ctx);
/* No operation of h may be under way. */
void peer_close(struct peer_handle *h);

#endif
