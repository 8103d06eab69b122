/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote.h - the requests of one ring that other hosts answer. dispatch.c starts the requests.
 * queue.c takes the responses.
 *
 * A worker of the ring starts a request and goes on with other requests at once. The end of a
 * request is reported on a thread of the peer's link, and is only noted there. One worker at a time
 * takes responses with remote_take(), and puts them on the ring. So responses of other hosts leave
 * in the order in which their answers came in.
 *
 * A request holds its handle until its response is taken. If the guest closes the handle meanwhile,
 * the handle is gone for the guest at once, and closed at the peer after its last request.
 * Responses of other hosts are not sealed: a peer checks what its datanodes have withdrawn when the
 * peer answers.
 *
 * Threads: any worker may start requests; one thread at a time calls the other functions.
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

/* d->peers must be set. All request ids are smaller than num_ids. 0 or negative errno. */
int remote_new(struct dispatch *d, unsigned num_ids, struct remote **ret);
/*
 * Waits for the end of all requests, then frees r. peer_pool_stop() makes the requests end soon.
 * NULL is ignored.
 */
void remote_free(struct remote *r);

/*
 * -EINPROGRESS: the request was started, and its response follows. Any other value is the status of
 * the request, and no response follows. READ and STAT take over the reference that handles_get()
 * took for `handle`. here: the status of the OPEN if no peer that can be asked has the block.
 */
int remote_open(struct remote *r, const struct vread_request *request,
		const struct block_name *name, int here);
int remote_read(struct remote *r, const struct vread_request *request, struct peer_handle *handle);
int remote_stat(struct remote *r, const struct vread_request *request, struct peer_handle *handle);

/*
 * remote_fd() is readable when there may be a response to take. remote_heard() resets it, so that
 * it becomes readable with the next response. remote_fd() is -1 if r is NULL.
 */
int remote_fd(const struct remote *r);
void remote_heard(struct remote *r);
/* False: there is no response yet, or r is NULL. */
bool remote_take(struct remote *r, struct vread_response *ret);

#endif
