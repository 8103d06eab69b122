/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h - the requests of one ring that other hosts are to answer.
 *
 * One is begun by the ring's worker, which goes on with others at once.  Its end is
 * told on a thread of the peer's link, and only noted there; the worker then takes it out here, as
 * a response that only it puts on the ring.  So responses leave in the order their
 * answers came in.
 *
 * A request holds its handle until its response is taken out: a handle closed
 * meanwhile is gone for the guest at once, and closed at the peer after its last request.
 * Nothing is sealed: a peer judges what its datanodes withdrew when it answers.
 *
 * Threads: all functions are the worker's.
 */
#ifndef VREAD_REMOTE_H
#define VREAD_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct block_name;
struct dispatch;
struct peer_handle;
struct remote;

/* d->peers is set; ids are those smaller than num_ids.  0 or negative errno. */
int remote_new(struct dispatch *d, unsigned num_ids, struct remote **ret);
/* Waits for the end of all requests first, which peer_pool_stop() hastens.  NULL is ignored. */
void remote_free(struct remote *r);

/*
 * -EINPROGRESS: begun; or why not, then there is nothing to come.  READ and STAT take over the
 * reference that got `handle`.  here: the status of an OPEN of what no peer has that can be asked.
 */
int remote_open(struct remote *r, const struct vread_request *request,
		const struct block_name *name, int here);
int remote_read(struct remote *r, const struct vread_request *request, struct peer_handle *handle);
int remote_stat(struct remote *r, const struct vread_request *request, struct peer_handle *handle);

/* Readable when there may be a response to take; remote_heard() makes it wait for the next.
 * -1 without r. */
int remote_fd(const struct remote *r);
void remote_heard(struct remote *r);
/* False: none (yet), or no r. */
bool remote_take(struct remote *r, struct vread_response *ret);

#endif
