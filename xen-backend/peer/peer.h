/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - reads blocks that lie on other hosts.
 *
 * ring/ calls the pool functions and the block functions for its guests.  control/ starts peers,
 * stops peers, reloads them and reads their status.
 *
 * A peer is the vreadd of another host.  vreadd asks a peer for a block only if the directory
 * (directory.h) says that the peer holds one of the replicas wanted.  The peer finds, reads and
 * verifies the bytes as for its own guests, within the rights that its configuration gives this
 * host.  The bytes go straight into the pool of the guest that asked.  There are two ways for the
 * bytes: RDMA, where both hosts have it, and TCP.  For both, TLS 1.3 certificates prove who the
 * peer is (asking/link.h).
 *
 * No function waits for an answer.  An operation is begun, and its callback is called once, on a
 * thread of the peer's link.  Each operation ends in bounded time, whatever the peer does.  An
 * overdue operation fails with -ENODEV (OPEN) or -EAGAIN (others).  If the peer does not answer any
 * other operation either, all operations under way on its link fail in the same way.  The next
 * operation then makes a new connection, after a pause that grows with each failure.  Guests take
 * turns on a link.
 *
 * Threads: any function on any thread, but peers_new(), peers_start() and peers_free() only on the
 * control thread.  Errors: negative errno as listed in vreadif.h.
 */
#ifndef VREAD_PEER_H
#define VREAD_PEER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "base/changes.h"
#include "read/block.h"

struct peers;
struct peer_pool;   /* a guest's mapped pool; peers' bytes go into it */
struct peer_handle; /* an open block on another host */

struct peers_config; /* peer/settings.h: [peers], [peer NAME] */

/* store: the blocks that peers may read here.  0, -ENOMEM, or an error with *ret_error (free()
 * it). */
int peers_new(const struct peers_config *config, struct block_store *store, struct peers **ret,
	      char **ret_error);
/* Listens for peers if [peers] listen is set.  The thread of a link starts with the first use of
 * its peer.  0, or negative errno with *ret_error (free() it; it may be NULL). */
int peers_start(struct peers *p, sd_event *event, char **ret_error);
/* Every pool must have been freed before. */
void peers_free(struct peers *p);

/* Replaces the peer list with the one in config.  All other settings are ignored.
 *
 * Reads from peers that have not changed go on.  The connection to a peer ends if the peer is
 * removed, if its address or its datanodes change, or if its storages change and it may announce
 * storages.  Then operations under way there end at once with -EAGAIN; an OPEN goes to the next
 * peer, or ends with -ENODEV if there is none.  Handles open there fail with -EAGAIN, too.
 *
 * From now on a peer gets no answer about blocks that it may not read any more; answers already on
 * their way still reach it.  Control thread only; config need not outlive the call. */
void peers_reload(struct peers *p, const struct peers_config *config,
		  const struct changes *changes);

/* Reads this host's certificate, key, authority and revocation list again, now.  Without this call
 * they are read again within a second after the files changed, while a peer is connected or
 * connects.  New connections use the new files.  A connected peer that would not be accepted any
 * more is disconnected.  0, or negative errno with *ret_error (free() it): then the old ones stay
 * in use.  Any thread. */
int peers_reload_credentials(struct peers *p, char **ret_error);

/* New reference: "peers" of the status document (control/control.h). */
json_t *peers_status(struct peers *p);

/* Records, as the operator's word, that the storage is on that host from now on.  storage_id: an
 * id, or DATANODE/ID.  host: the name of a [peer] section; NULL: on no peer any more.  Handles that
 * were opened on another peer by this storage, and operations under way on such handles, fail with
 * -EAGAIN.  Returns 0; -ENOENT: no such peer; -EINVAL: not a storage id, or the storage's datanode
 * is unknown; -EPERM: the configuration pins it to a datanode of this host; -ENOSPC or -ENOMEM. */
int peers_move(struct peers *p, const char *storage_id, const char *host);

/* The operator has given the storage to a datanode of this host: the last peers_move() does not
 * count any more. */
void peers_forget_move(struct peers *p, const char *storage_id);

/* base must stay mapped until peer_pool_free() has returned; then no peer can write to it any more.
 * 0 or -ENOMEM. */
int peer_pool_new(struct peers *p, uint8_t *base, size_t length, struct peer_pool **ret);
/* Ends every operation under way for the pool with -EAGAIN, whatever the peers do: at once, or by
 * RDMA within LINK_CANCEL_TIMEOUT.  Later READs and STATs fail with -EAGAIN, later OPENs with
 * -ENODEV.  Does not wait.  Any thread.  Called by ring/session.c before it joins the threads of
 * the guest's queues. */
void peer_pool_stop(struct peer_pool *pool);
/* No operation may be under way for the pool, and its handles must be closed. */
void peer_pool_free(struct peer_pool *pool);

/* True if the name has storage ids, and each of these storages is known to be on a peer. */
bool peers_have(struct peers *p, const struct block_name *name);

/* result: as the return value of block_open(), block_read() or block_stat() (read/block.h).  A
 * result < 0 of OPEN or STAT comes with handle and info NULL. */
typedef void peer_opened_fn(void *ctx, int result, struct peer_handle *handle,
			    const struct block_info *info);
/* crc32c: of the bytes, as the peer said, which verified them; 0 unless result > 0. */
typedef void peer_done_fn(void *ctx, ssize_t result, uint32_t crc32c);
typedef void peer_stat_fn(void *ctx, int result, const struct block_info *info);

/* Asks the peers that hold one of the storages, one after the other.  If the name says encrypt, the
 * bytes come by TLS, also where RDMA is used.  Returns 0 if the operation was begun.  After any
 * other return value done is not called: -ENODEV: no peer is known to hold one of the storages, or
 * the policy allows none of them, or no such peer can be asked now, or the bytes must be encrypted
 * and [peers] transports is without tcp; -EAGAIN: too many OPENs are under way for this pool;
 * -EINVAL; -ENOMEM. */
int peer_open(struct peers *p, struct peer_pool *pool, const struct policy *policy,
	      const struct block_name *name, peer_opened_fn *done, void *ctx);
/* Reads into the pool at offset_in_pool, cut at the visible length.  length: 1 to VREAD_MAX_READ.
 * Returns 0 if the operation was begun, else done is not called.  peer_stat(): likewise. */
int peer_read(struct peer_handle *h, uint64_t offset, size_t offset_in_pool, uint32_t length,
	      peer_done_fn *done, void *ctx);
int peer_stat(struct peer_handle *h, peer_stat_fn *done, void *ctx);
/* No operation of h may be under way. */
void peer_close(struct peer_handle *h);

#endif
