/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/dial.h - decides when the host that asks dials, and whether READs meanwhile go over TLS.
 * making.c and transport.c call it.
 *
 * RDMA may be broken although TLS works.  So READs wait only a limited time for the first queue
 * pair.  After that time, and whenever there is no queue pair, READs go over TLS.  The host
 * dials again after a pause that grows with each failure.  If only RDMA may be used, nothing
 * goes over TLS, and the first failure ends the connection.
 *
 * These functions keep states only: they use no clock and no devices.  Times are ms of a
 * monotonic clock.
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
	uint64_t until;         /* end of the pause; or when the call under way has failed */
	uint64_t patience_ends; /* READs wait until then; 0: they wait no more */
	unsigned pause;         /* ms: length of the next pause */
};

void rdma_dial_begin(struct rdma_dial *d, const struct rdma_choice *choice, uint64_t now);
/* True if the caller must dial now.  The state is then RDMA_DIAL_CALLS. */
bool rdma_dial_is_due(struct rdma_dial *d, uint64_t now);
/* True if the call under way has taken too long. */
bool rdma_dial_is_overdue(const struct rdma_dial *d, uint64_t now);
/* The call has failed.  False: READs may not go over TLS, so the connection is over. */
bool rdma_dial_failed(struct rdma_dial *d, uint64_t now);
void rdma_dial_succeeded(struct rdma_dial *d);
/* True if READs sent now go over TLS. */
bool rdma_dial_goes_by_tls(const struct rdma_dial *d, uint64_t now);
/* The time at which rdma_dial_is_due(), rdma_dial_is_overdue() or rdma_dial_goes_by_tls() next
 * changes its answer.  UINT64_MAX: not before another function here is called. */
uint64_t rdma_dial_next(const struct rdma_dial *d, uint64_t now);

#endif
