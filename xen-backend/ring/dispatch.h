/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dispatch.h - carries out one request of a device. queue.c calls these functions for each request.
 *
 * These functions know the operations and their answers, nothing of rings: dispatch_request() takes
 * the private copy of a request and fills a zeroed response. If another host has to answer, the
 * request is only started here, and the response comes later from remote.h.
 *
 * A response is final when it has been sealed (dispatch_seal()), and goes on the ring before it is
 * unsealed (dispatch_unseal()). Nothing may block between the two calls; read/service.h says why.
 * Then the frontend is notified. dispatch_end() comes last, because it may wait for a disk.
 */
#ifndef VREAD_DISPATCH_H
#define VREAD_DISPATCH_H

#include "port/port.h"
#include "base/counters.h"
#include "read/service.h"
#include "ring/open_data.h"

struct block_info;
struct peer_pool;
struct peers;
struct remote;

/* The kind of a handle whose block another host reads: a struct peer_handle. */
enum { HANDLE_PEER = HANDLE_BLOCK + 1 };

/* Shared by all queues of a device. */
struct dispatch {
	struct port_conn *conn;
	struct reader reader;
	struct peers *peers;         /* NULL: no other host is asked */
	struct peer_pool *peer_pool; /* the pool of conn; set if peers is */
	struct counters counters;
};

/* Private memory of one worker, kept off its stack. */
struct dispatch_scratch {
	uint8_t raw[VREAD_MAX_OPEN_DATA]; /* has tokens and keys; wiped before the answer */
	uint32_t raw_length;              /* bytes in use */
	struct open_data data;
	struct remote *remote;  /* of the worker's queue; NULL: no other host is asked */
	struct reading reading; /* of the last request */
};

/* Closes a handle of a device; passed to handles_new(). */
void dispatch_close(struct handle h);
/*
 * True: the request is answered; dispatch_seal(), dispatch_unseal() and dispatch_end() must follow.
 * False: the response comes later from remote.h.
 */
bool dispatch_request(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r, struct vread_response *response);
/* Fills in what the response to an OPEN or a STAT tells about a block. */
void dispatch_fill_block(struct vread_response *response, const struct block_info *info);
/*
 * Seals the response to r, which must be the request carried out last. False: another host is asked
 * instead, and the response comes later. dispatch_unseal() and dispatch_end() must follow in both
 * cases.
 */
bool dispatch_seal(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response);
void dispatch_unseal(struct dispatch_scratch *scratch);
void dispatch_end(struct dispatch_scratch *scratch);

#endif
