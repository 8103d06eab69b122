/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/host.h - this host's devices, and what memory they know.
 *
 * A device is remembered from its first use, with one protection domain for each side
 * (rdma.h): a queue pair through which others are answered cannot reach the memory of
 * guests that ask, whatever key its peer guesses.
 */
#ifndef VREAD_PEER_RDMA_HOST_H
#define VREAD_PEER_RDMA_HOST_H

#include <infiniband/verbs.h>

#include "peer/rdma/rdma.h"

struct rdma_device {
	struct rdma *rdma;
	struct ibv_context *context;
	struct ibv_pd *domains[RDMA_SIDES];
};

/* Stays until the rdma is freed. */
int rdma_device_of(struct rdma *r, struct ibv_context *context, struct rdma_device **ret);

/* The key of the memory in which [at, at + length) lies: the local one, or for RDMA_ASKS the one that
 * others are told.  -ENOENT: it lies in none.  Else what registering it failed with: it is not
 * tried again. */
int rdma_key_of(struct rdma_device *d, enum rdma_side side, const uint8_t *at, size_t length,
		uint32_t *ret);

#endif
