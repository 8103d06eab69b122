/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dispatch.h - carries out one request of a device.
 *
 * Knows the operations and their answers, nothing of rings: it takes the
 * private copy of a request and fills a zeroed response.  What another host has to
 * answer is begun, and its response comes later, out of remote.h.
 *
 * An answer about a block is true only while its datanode has not withdrawn
 * it.  So a response is final when it has been sealed, and is put on the ring
 * before it is unsealed: a PUBLISH on another queue waits for that moment, in
 * which nothing may block.
 */
#ifndef VREAD_DISPATCH_H
#define VREAD_DISPATCH_H

#include "port/port.h"
#include "base/counters.h"
#include "read/handles.h"
#include "ring/open_data.h"

struct block_info;
struct block_store;
struct peer_pool;
struct peers;
struct remote;

/* Kinds of a device's handles. */
enum {
	READ_HERE,
	READ_THERE
}; /* a struct block_handle; a struct peer_handle: another host reads it */

/* What all queues of a device share. */
struct dispatch {
	struct port_conn *conn;
	struct block_store *store;
	struct handles *handles;
	struct peers *peers;         /* NULL: no other host is asked */
	struct peer_pool *peer_pool; /* conn's, if there are peers */
	struct counters counters;
};

/* Private memory of one worker, kept off its stack. */
struct dispatch_scratch {
	uint8_t raw[VREAD_MAX_OPEN_DATA];
	struct open_data data;
	struct remote *remote;        /* of this worker; NULL: no other host is asked */
	struct block_handle *subject; /* of the request carried out last; NULL: none */
	uint32_t subject_number;
};

/* What the device's handles are closed with (handles_new()). */
void dispatch_close(struct handle h);
/* True: answered; a seal and an unseal follow.  False: the response is yet to come. */
bool dispatch_request(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r, struct vread_response *response);
/* What an OPEN or a STAT tells. */
void dispatch_fill_block(struct vread_response *response, const struct block_info *info);
/* The request is the one carried out last.  False: another host is asked instead, and the response is
 * yet to come; an unseal follows all the same. */
bool dispatch_seal(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response);
void dispatch_unseal(struct dispatch *d, struct dispatch_scratch *scratch);

#endif
