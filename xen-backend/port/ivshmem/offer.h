/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offer.h - what the backend offers to a guest of KVM, and the check of the guest's answer; pure
 * but for the reads of the answer. device.c calls it.
 */
#ifndef VREAD_IVSHMEM_OFFER_H
#define VREAD_IVSHMEM_OFFER_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ivshmem.h"
#include "vread-ring-user.h"

#define IVSHMEM_MIN_MEMORY ((size_t)1 << 20)
#define IVSHMEM_MAX_MEMORY ((size_t)256 << 20)

/* Where the parts of the memory are. */
struct ivshmem_offer {
	uint32_t max_queues, max_ring_page_order;
	uint32_t pool_first, pool_pages;
};

/* The offer for memory of IVSHMEM_MIN_MEMORY to IVSHMEM_MAX_MEMORY and 1 to VREAD_MAX_QUEUES. */
struct ivshmem_offer ivshmem_offer_make(size_t memory, unsigned queues);
/* Byte offset of the ring of queue q. */
size_t ivshmem_offer_ring(const struct ivshmem_offer *o, unsigned q);

struct ivshmem_answer {
	uint32_t version, num_queues, ring_page_order;
};

/* Reads each field once. The guest may change the fields at any time. */
struct ivshmem_answer ivshmem_answer_read(const struct vread_ivshmem_control *control);

#define IVSHMEM_ERROR_SIZE 200

/* 0, or -EINVAL, -EPROTO (version) with a text in error. */
int ivshmem_answer_check(const struct ivshmem_answer *a, const struct ivshmem_offer *o,
			 char error[IVSHMEM_ERROR_SIZE]);

#endif
