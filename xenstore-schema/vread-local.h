/* SPDX-License-Identifier: MIT */
/*
 * vread-local.h - the protocol of vreadif.h without a hypervisor, the "local port".  libvread is
 * the frontend, vreadd (xen-backend/port/local) the backend.
 *
 *   frontend                                    backend
 *
 *   connects to a UNIX SOCK_SEQPACKET socket
 *   vread_local_hello         ------------->    checks the hello
 *                             <-------------    vread_local_welcome and, if status is 0,
 *                                               file descriptors (SCM_RIGHTS)
 *
 * The descriptors come in this order:
 *
 *   pool      memfd, pool_pages pages
 *   rings     memfd, num_queues * (1 << ring_page_order) pages, queue by queue;
 *             each ring is initialised, and the alive byte of queue 0 is 1
 *   then for each queue
 *     eventfd that the frontend writes (requests)
 *     eventfd that the backend writes (responses)
 *
 * The memfds are sealed against resizing.  The pool is filled with zeros.
 *
 * A frontend reads its welcome at once.  While several welcomes of one user are unread, the backend
 * does not answer further hellos of that user.
 *
 * From then on sections 3 and 4 of vreadif.h and its operations hold, but without grants and
 * without a pool directory.  Nothing more is sent on the socket.  The connection ends when either
 * side closes its socket or shuts it down for writing.  The backend does so after a protocol error,
 * and when it ends.  It does not clear the alive byte, so a frontend must watch the socket as well
 * as the ring.
 *
 * By closing its socket, or shutting it down for writing, the frontend gives the memory back: the
 * backend frees the pages, and who reads them finds zeros.  So a frontend does this after its last
 * access.  Until then the bytes of a response stay in the pool, also when the backend has ended the
 * connection or has itself ended, and the connection and its pages count against the user.
 *
 * All integers are in the byte order of the machine.
 */
#ifndef VREAD_LOCAL_H
#define VREAD_LOCAL_H

#include <stdint.h>

#define VREAD_LOCAL_MAGIC 0x44525631u /* "1VRD" in memory */

/* The backend ends a connection that does not send its hello within a few seconds. */
struct vread_local_hello {
	uint32_t magic;           /* VREAD_LOCAL_MAGIC */
	uint32_t version;         /* VREAD_PROTOCOL_VERSION */
	uint32_t pool_pages;      /* VREAD_MIN_POOL_PAGES .. VREAD_MAX_POOL_PAGES */
	uint16_t num_queues;      /* 1 .. VREAD_MAX_QUEUES */
	uint16_t ring_page_order; /* 0 .. VREAD_MAX_RING_PAGE_ORDER */
	uint32_t reserved[4];     /* 0 */
};

struct vread_local_welcome {
	uint32_t magic;           /* VREAD_LOCAL_MAGIC */
	uint32_t version;         /* VREAD_PROTOCOL_VERSION of the backend */
	int32_t status;           /* 0, or negative errno, see below */
	uint32_t pool_pages;      /* as in the hello; this and the next two only if status is 0 */
	uint16_t num_queues;      /* as in the hello */
	uint16_t ring_page_order; /* as in the hello */
	uint32_t reserved[3];     /* 0 */
};

/*
 * After a status that is not 0 the backend closes its socket:
 *
 *   EINVAL      malformed hello; do not repeat it
 *   ENOMEM      the backend is out of memory or file descriptors, or this user has as many
 *               connections as it may have, has connected or broken the protocol too often of late,
 *               or has programs that do not read their welcomes; retry later
 *   ENOSPC      fewer than pool_pages are free for this user, or pool_pages is more than one
 *               connection may have; ask for less.  VREAD_SMALL_SHARE_PAGES find room longest: the
 *               backend keeps room for VREAD_SMALL_SHARES connections with so many
 *   EPROTO      the backend does not have this version
 */

#endif
