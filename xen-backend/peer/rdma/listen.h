/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/listen.h - the connection request that arrived for an rdma_await().  making.c and
 * transport.c call it.
 */
#ifndef VREAD_PEER_RDMA_LISTEN_H
#define VREAD_PEER_RDMA_LISTEN_H

#include <rdma/rdma_cma.h>

#include "peer/rdma/rdma.h"

/* Poll the descriptor for reading.  When it is readable, a host has dialled. */
int rdma_await_fd(const struct rdma_awaited *a);
/* The connection request, which then belongs to the caller.  *ret: the meeting, with the asker's
 * part.  NULL: no host has dialled. */
struct rdma_cm_id *rdma_await_take(struct rdma_awaited *a, struct rdma_meeting *ret);
const struct rdma_secret *rdma_await_secret(const struct rdma_awaited *a);
struct rdma *rdma_await_rdma(const struct rdma_awaited *a);

#endif
