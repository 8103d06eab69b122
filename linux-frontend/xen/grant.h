/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grant.h - pages that are shared with the backend by Xen's grants: rings, and the pool with its
 * directory.
 *
 * The pages of the pool are allocated zeroed, granted once, and kept as long as the pool.  A
 * reconnect offers the same grants again.
 *
 * Process context, by one thread at a time for each device.
 */
#ifndef VREAD_GRANT_H
#define VREAD_GRANT_H

#include <linux/mm_types.h>
#include <xen/grant_table.h>

#include "vreadif.h"

struct vread_pool;

/* A ring.  All zero: no page is granted. */
struct vread_ring_grants {
	void *ring;
	unsigned int pages;
	grant_ref_t gref[1U << VREAD_MAX_RING_PAGE_ORDER]; /* of each page */
};

/* The pool.  All zero: there is none. */
struct vread_pool_grants {
	unsigned int pages;
	unsigned int directory_pages;
	struct page **page; /* the pool, then the directory */
	grant_ref_t *gref;  /* of each page */
	bool granted;
};

/* Allocates and grants 1 << order zeroed pages.  0 or negative errno. */
int vread_grant_ring(struct vread_ring_grants *ring, domid_t domid, unsigned int order);
/* Ends the grants.  The pages are freed when the backend has unmapped them. */
void vread_ungrant_ring(struct vread_ring_grants *ring);

/* Allocates and grants a pool, which uses grants until it is destroyed.  ERR_PTR: -ENOMEM, or
 * -ENOSPC: too few grant references. */
struct vread_pool *vread_grant_pool(struct vread_pool_grants *grants, domid_t domid,
				    unsigned int pages);
/* Ends all grants, and grants the pages again: a restore empties the grant table.  False: the other
 * end has a page mapped, and some pages may have been granted again. */
bool vread_regrant_pool(struct vread_pool_grants *grants, domid_t domid);
/* Ends all grants, when the device is gone.  The pages live as long as the pool. */
void vread_ungrant_pool(struct vread_pool_grants *grants);
/* The grant reference of the first directory page. */
grant_ref_t vread_pool_directory(const struct vread_pool_grants *grants);

#endif
