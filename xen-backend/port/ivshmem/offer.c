// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements offer.h. device.c calls it. */
#include "port/ivshmem/offer.h"

#include <errno.h>
#include <stdio.h>

/* The largest rings of all queues take 128 pages, so they fit into the smallest memory. */
_Static_assert(1 + (VREAD_MAX_QUEUES << VREAD_MAX_RING_PAGE_ORDER) + VREAD_MIN_POOL_PAGES <=
		       (IVSHMEM_MIN_MEMORY / VREAD_PAGE_SIZE),
	       "rings and a pool fit");

struct ivshmem_offer ivshmem_offer_make(size_t memory, unsigned queues)
{
	struct ivshmem_offer o = {
		.max_queues = queues,
		.max_ring_page_order = VREAD_MAX_RING_PAGE_ORDER,
		.pool_first = 1 + ((uint32_t)queues << VREAD_MAX_RING_PAGE_ORDER),
	};

	o.pool_pages = (uint32_t)(memory / VREAD_PAGE_SIZE) - o.pool_first;
	if (o.pool_pages > VREAD_MAX_POOL_PAGES)
		o.pool_pages = VREAD_MAX_POOL_PAGES;
	return o;
}

size_t ivshmem_offer_ring(const struct ivshmem_offer *o, unsigned q)
{
	return (1 + ((size_t)q << o->max_ring_page_order)) * VREAD_PAGE_SIZE;
}

struct ivshmem_answer ivshmem_answer_read(const struct vread_ivshmem_control *control)
{
	return (struct ivshmem_answer){
		.version = __atomic_load_n(&control->version, __ATOMIC_RELAXED),
		.num_queues = __atomic_load_n(&control->num_queues, __ATOMIC_RELAXED),
		.ring_page_order = __atomic_load_n(&control->ring_page_order, __ATOMIC_RELAXED),
	};
}

int ivshmem_answer_check(const struct ivshmem_answer *a, const struct ivshmem_offer *o,
			 char error[IVSHMEM_ERROR_SIZE])
{
	if (a->version != VREAD_PROTOCOL_VERSION) {
		snprintf(error, IVSHMEM_ERROR_SIZE, "frontend version: %u: expected %u", a->version,
			 VREAD_PROTOCOL_VERSION);
		return -EPROTO;
	}
	if (a->num_queues < 1 || a->num_queues > o->max_queues) {
		snprintf(error, IVSHMEM_ERROR_SIZE,
			 "frontend num_queues: %u: expected a number from 1 to %u", a->num_queues,
			 o->max_queues);
		return -EINVAL;
	}
	if (a->ring_page_order > o->max_ring_page_order) {
		snprintf(error, IVSHMEM_ERROR_SIZE,
			 "frontend ring_page_order: %u: expected a number from 0 to %u",
			 a->ring_page_order, o->max_ring_page_order);
		return -EINVAL;
	}
	return 0;
}
