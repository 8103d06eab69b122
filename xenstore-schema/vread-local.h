/* SPDX-License-Identifier: MIT */
/*
 * vread-local.h - vreadif.h without a hypervisor: the "local port".
 *
 * A backend listens on a UNIX SOCK_SEQPACKET socket.  A frontend (libvread)
 * connects and sends one vread_local_hello; the backend answers with one
 * vread_local_welcome and, if its status is 0, file descriptors (SCM_RIGHTS) in this order:
 *
 *   pool      memfd, pool_pages pages
 *   rings     memfd, num_queues * (1 << ring_page_order) pages, queue by queue,
 *             each ring initialised, the alive byte of queue 0 already 1
 *   then for each queue: an eventfd the frontend writes (requests), an eventfd
 *   the backend writes (responses)
 *
 * The memfds are sealed against resizing.  From there on vreadif.h's sections 3 to 5
 * hold, without grants: the pool directory has no part in it.  Nothing more is sent; either
 * side closing its socket ends the connection, and the other side sees that.  On its
 * orderly or sudden end the backend clears nothing: a frontend watches the
 * socket as well as the ring.  On a protocol error the backend closes.
 */
#ifndef VREAD_LOCAL_H
#define VREAD_LOCAL_H

#include <stdint.h>

#define VREAD_LOCAL_MAGIC 0x44525631u /* "1VRD" in memory */

struct vread_local_hello {
	uint32_t magic;
	uint32_t version;         /* VREAD_PROTOCOL_VERSION */
	uint32_t pool_pages;      /* VREAD_MIN_POOL_PAGES .. VREAD_MAX_POOL_PAGES */
	uint16_t num_queues;      /* 1 .. VREAD_MAX_QUEUES */
	uint16_t ring_page_order; /* 0 .. VREAD_MAX_RING_PAGE_ORDER */
	uint32_t reserved[4];     /* 0 */
};

struct vread_local_welcome {
	uint32_t magic;
	uint32_t version;
	int32_t status;           /* 0, or negative errno, see below */
	uint32_t pool_pages;      /* as asked */
	uint16_t num_queues;      /* as asked */
	uint16_t ring_page_order; /* as asked */
	uint32_t reserved[3];     /* 0 */
};

/*
 *   EINVAL      malformed hello; repeating it is useless
 *   ENOMEM      out of memory or of file descriptors in the backend, or as many connections as it
 *               allows; retry later
 *   ENOSPC      fewer than pool_pages are free, or that is more than one connection may have: ask
 *               for less
 *   EPROTO      this version is not spoken here
 */

#endif
