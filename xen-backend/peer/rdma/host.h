/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma/host.h - this host's RDMA devices, and the memory that is registered with them.  pair.c,
 * asker.c and answerer.c call it.
 *
 * A device is remembered from its first use.  It has one protection domain for each side: for
 * asking and for answering.  So a queue pair on which this host answers cannot reach memory of
 * guests that ask, whatever key the peer guesses.
 *
 * No other host can reach memory by its registration alone.  Memory for asking can be bound to a
 * memory window, and the key of the window is what another host is told (rdma/windows.c).  A
 * device without memory windows gets no memory of guests.
 */
#ifndef VREAD_PEER_RDMA_HOST_H
#define VREAD_PEER_RDMA_HOST_H

#include <stdbool.h>
#include <infiniband/verbs.h>

#include "peer/rdma/rdma.h"

struct rdma_device {
	struct rdma *rdma;
	struct ibv_context *context;
	struct ibv_pd *domains[RDMA_SIDES];
	bool has_windows; /* memory windows of type 2, which belong to one queue pair */
	/* The device repeats the binds behind a message that is sent again.  A repeated bind
	 * fails. */
	bool repeats_binds;
};

/* 0, -ENODEV: too many devices, or the error of the device.  After an error the device is not
 * remembered, and the next call asks it again.  Else the device stays until r is freed. */
int rdma_device_of(struct rdma *r, struct ibv_context *context, struct rdma_device **ret);

/* The registered region that holds all of [at, at + length).  It stays until rdma_memory_free().
 * 0; -ENOENT: no memory of that side holds the range; -EOPNOTSUPP: RDMA_ASKS, and the device has no
 * memory windows; or the error with which registering the memory failed.  Registering is tried
 * again after a second. */
int rdma_region_of(struct rdma_device *d, enum rdma_side side, const uint8_t *at, size_t length,
		   struct ibv_mr **ret);

#endif
