/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rdma/listen.h - what rdma_await() has found, for whoever awaits. */
#ifndef VREAD_PEER_RDMA_LISTEN_H
#define VREAD_PEER_RDMA_LISTEN_H

#include <rdma/rdma_cma.h>

#include "peer/rdma/rdma.h"

/* To be polled for reading; then somebody has dialled. */
int rdma_await_fd(const struct rdma_awaited *a);
/* Who dialled, and is the caller's then; NULL: nobody yet. */
struct rdma_cm_id *rdma_await_take(struct rdma_awaited *a, struct rdma_meeting *ret);
const struct rdma_secret *rdma_await_secret(const struct rdma_awaited *a);
struct rdma *rdma_await_rdma(const struct rdma_awaited *a);

#endif
