/* SPDX-License-Identifier: MIT */
/*
 * vread-ivshmem.h - the protocol of vreadif.h for guests of KVM and QEMU, over memory that guest
 * and host share.  linux-frontend/ is the frontend, vreadd (xen-backend/port/ivshmem) the backend.
 *
 * The guest has a PCI device ivshmem-doorbell of QEMU (1af4:1110, revision 1).  QEMU gets the
 * device's shared memory and doorbells from the program vread-ivshmem, by QEMU's ivshmem-server
 * protocol (docs/specs/ivshmem-spec of QEMU).  vread-ivshmem gives the same memory and doorbells to
 * vreadd, and outlives it.  The memory of a guest is shared with no other guest.  It is zero at
 * first, except for the magic number, by which the frontend knows the device.
 *
 * The memory (BAR 2) has these parts, in pages of 4096 bytes:
 *
 *   page 0                        struct vread_ivshmem_control
 *   1 + (n << max_ring_page_order)   the ring of queue n, for each n below max_queues
 *   pool_first                    the pool, pool_pages pages
 *
 * In the ivshmem protocol the host is peer 0 and the guest is peer 1.  Each has 1 + max_queues
 * vectors: vector 0 tells of a change in page 0, vector 1 + n is the event channel of queue n.
 *
 * States are those of section 2 of vreadif.h.  Instead of nodes in xenstore there are two words in
 * page 0, backend and frontend, each written by one side only: VREAD_IVSHMEM_WORD(epoch, state).
 * Whoever changes its word then rings vector 0 of the other.  Each InitWait of a backend has a new
 * epoch.  The frontend answers with the epoch of the backend's word.  A word of another epoch than
 * the backend's says nothing.
 *
 *   backend                                      frontend
 *   InitWait of a new epoch: the fields of       Initialising: a driver is there
 *   the offer are valid
 *                                                Initialised: num_queues, ring_page_order and
 *                                                version are valid; each ring is initialised,
 *                                                and the alive byte is 0
 *   Connected: the alive byte is 1
 *                                                Connected
 *   Closing, or after any other word of the      Closing, or Initialising after a restart
 *   frontend
 *   Closed: touches neither rings nor pool
 *
 * After Closed the backend offers a new InitWait as soon as it likes.  Sections 3 and 4 of
 * vreadif.h and its operations hold, but without grants and without a pool directory.
 *
 * If vreadd ends in any way, vread-ivshmem clears the alive byte, makes the state of the backend's
 * word Closed, and rings all vectors of the guest.  It does so when the process has ended, after
 * which no RDMA adapter writes into the memory for it.
 *
 * Both sides can write all of the memory at any time.  So each reads a field once, into memory of
 * its own, and checks the copy.  Integers are in the byte order of the machine.
 */
#ifndef VREAD_IVSHMEM_H
#define VREAD_IVSHMEM_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#define VREAD_IVSHMEM_MAGIC 0x49525631U /* "1VRI" in memory: the device is one of vRead */

#define VREAD_IVSHMEM_HOST 0U  /* the host's peer id, as the guest's Doorbell register names it */
#define VREAD_IVSHMEM_GUEST 1U /* the guest's peer id */

#define VREAD_IVSHMEM_VECTOR_STATE 0U
#define VREAD_IVSHMEM_VECTOR_QUEUE(n) (1U + (n))

/* state: enum xenbus_state.  epoch: 1 .. 2^24 - 1; 1 follows the largest. */
#define VREAD_IVSHMEM_WORD(epoch, state) ((uint32_t)(epoch) << 8 | (uint32_t)(state))
#define VREAD_IVSHMEM_EPOCH(word) ((word) >> 8)
#define VREAD_IVSHMEM_STATE(word) (0xffU & (word))

#define VREAD_IVSHMEM_PUBLISH 0x1U  /* feature-publish of vreadif.h */
#define VREAD_IVSHMEM_USER 0x2U     /* feature-user */
#define VREAD_IVSHMEM_DATANODE 0x4U /* the role is datanode; else client */

struct vread_ivshmem_control {
	/* The backend's offer. */
	uint32_t magic;               /* VREAD_IVSHMEM_MAGIC */
	uint32_t backend;             /* word */
	uint32_t offered_version;     /* VREAD_PROTOCOL_VERSION */
	uint32_t flags;               /* VREAD_IVSHMEM_PUBLISH, ... */
	uint32_t max_queues;          /* 1 .. VREAD_MAX_QUEUES */
	uint32_t max_ring_page_order; /* 0 .. VREAD_MAX_RING_PAGE_ORDER */
	uint32_t pool_first;          /* page; behind all rings */
	uint32_t pool_pages;          /* VREAD_MIN_POOL_PAGES .. VREAD_MAX_POOL_PAGES */
	uint32_t reserved[24];        /* 0 */

	/* The frontend's answer. */
	uint32_t frontend;        /* word */
	uint32_t version;         /* VREAD_PROTOCOL_VERSION */
	uint32_t num_queues;      /* 1 .. max_queues */
	uint32_t ring_page_order; /* 0 .. max_ring_page_order */
};

#endif
