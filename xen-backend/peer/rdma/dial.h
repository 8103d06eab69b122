/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/dial.h - when an asker dials, and which way READs go meanwhile.
 *
 * The fabric may be broken although TLS passes.  So READs wait only a while for the first queue
 * pair; then, and whenever there is none, they go by TLS, and the asker dials again after a pause
 * that grows from failure to failure.  Where RDMA is all that may be used nothing goes by TLS, and the first
 * failure is the connection's end.
 *
 * Only states: no clock, no devices.  Times are ms of a clock that only goes on.
 */
#ifndef VREAD_PEER_RDMA_DIAL_H
#define VREAD_PEER_RDMA_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "peer/rdma/rdma.h"

enum rdma_dial_state { RDMA_DIAL_PAUSES, RDMA_DIAL_CALLS, RDMA_DIAL_UP };

struct rdma_dial {
	enum rdma_dial_state state;
	bool or_tls;
	uint64_t until;         /* the pause's end, or when the call has failed */
	uint64_t patience_ends; /* READs wait until then; 0: not any more */
	unsigned pause;         /* ms: the next one */
};

void rdma_dial_begin(struct rdma_dial *d, const struct rdma_choice *choice, uint64_t now);
/* Whether to dial now: then it is under way. */
bool rdma_dial_is_due(struct rdma_dial *d, uint64_t now);
/* Whether it took too long. */
bool rdma_dial_is_overdue(const struct rdma_dial *d, uint64_t now);
/* False: there is no other way. */
bool rdma_dial_failed(struct rdma_dial *d, uint64_t now);
void rdma_dial_succeeded(struct rdma_dial *d);
/* Which way READs go that are sent now. */
bool rdma_dial_goes_by_tls(const struct rdma_dial *d, uint64_t now);
/* When any of these answers something else; UINT64_MAX: only after another call. */
uint64_t rdma_dial_next(const struct rdma_dial *d, uint64_t now);

#endif
