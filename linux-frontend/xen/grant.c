// SPDX-License-Identifier: GPL-2.0
/*
 * Implements grant.h.
 *
 * Page n of the protocol's pool is page[n].  The directory pages follow in the same arrays.  They
 * are granted read-only, for as long as the pool, because a backend that reconnects reads them
 * again.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <xen/page.h>

#include "core/pool.h"
#include "grant.h"

/* ---- rings ---- */

int vread_grant_ring(struct vread_ring_grants *ring, domid_t domid, unsigned int order)
{
	unsigned int pages = 1U << order, n;
	int gref;

	ring->ring = alloc_pages_exact(pages * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!ring->ring)
		return -ENOMEM;
	for (n = 0; n < pages; n++) {
		struct page *page = virt_to_page((char *)ring->ring + n * PAGE_SIZE);

		gref = gnttab_grant_foreign_access(domid, xen_page_to_gfn(page), 0);
		if (gref < 0) {
			/* These pages were never granted: free them like ordinary pages. */
			for (; n < pages; n++)
				__free_page(virt_to_page((char *)ring->ring + n * PAGE_SIZE));
			vread_ungrant_ring(ring);
			return gref;
		}
		ring->gref[n] = gref;
		ring->pages = n + 1;
	}
	return 0;
}

void vread_ungrant_ring(struct vread_ring_grants *ring)
{
	unsigned int n;

	for (n = 0; n < ring->pages; n++)
		gnttab_end_foreign_access(ring->gref[n],
					  virt_to_page((char *)ring->ring + n * PAGE_SIZE));
	ring->pages = 0;
	ring->ring = NULL;
}

/* ---- the pool ---- */

/* Neighbouring pages are mapped with one call, so pages are allocated in runs if possible. */
#define RUN_PAGES 16U

static unsigned int total_pages(const struct vread_pool_grants *grants)
{
	return grants->pages + grants->directory_pages;
}

static int alloc_pages_into(struct page **page, unsigned int count)
{
	unsigned int run = RUN_PAGES, done = 0, i;
	char *p;

	while (done < count) {
		run = min(run, count - done);
		p = alloc_pages_exact(run * PAGE_SIZE,
				      GFP_KERNEL | __GFP_ZERO |
					      (run > 1 ? __GFP_NORETRY | __GFP_NOWARN : 0));
		if (!p && run > 1) {
			run = 1;
			continue;
		}
		if (!p)
			return -ENOMEM;
		for (i = 0; i < run; i++)
			page[done++] = virt_to_page(p + i * PAGE_SIZE);
		cond_resched();
	}
	return 0;
}

static void fill_directory(struct vread_pool_grants *grants)
{
	unsigned int d, i, n;
	struct vread_pool_directory *dir;

	for (d = 0; d < grants->directory_pages; d++) {
		dir = page_address(grants->page[grants->pages + d]);
		n = min(grants->pages - d * VREAD_DIRECTORY_REFS, VREAD_DIRECTORY_REFS);
		for (i = 0; i < n; i++)
			dir->gref[i] = grants->gref[d * VREAD_DIRECTORY_REFS + i];
		dir->gref_next_page =
			d + 1 < grants->directory_pages ? grants->gref[grants->pages + d + 1] : 0;
	}
}

static void grant_page(struct vread_pool_grants *grants, unsigned int n, domid_t domid)
{
	gnttab_grant_foreign_access_ref(grants->gref[n], domid, xen_page_to_gfn(grants->page[n]),
					n >= grants->pages);
}

static int grant_all(struct vread_pool_grants *grants, domid_t domid)
{
	grant_ref_t head;
	unsigned int n;

	if (gnttab_alloc_grant_references(total_pages(grants), &head))
		return -ENOSPC;
	for (n = 0; n < total_pages(grants); n++)
		grants->gref[n] = gnttab_claim_grant_reference(&head);
	gnttab_free_grant_references(head);

	fill_directory(grants);
	for (n = 0; n < total_pages(grants); n++)
		grant_page(grants, n, domid);
	grants->granted = true;
	return 0;
}

bool vread_regrant_pool(struct vread_pool_grants *grants, domid_t domid)
{
	unsigned int n;

	for (n = 0; n < total_pages(grants); n++) {
		if (!gnttab_end_foreign_access_ref(grants->gref[n]))
			return false;
		grant_page(grants, n, domid);
	}
	return true;
}

void vread_ungrant_pool(struct vread_pool_grants *grants)
{
	unsigned int n;

	if (!grants->granted)
		return;
	grants->granted = false;
	for (n = 0; n < total_pages(grants); n++) {
		get_page(grants->page[n]);
		gnttab_end_foreign_access(grants->gref[n], grants->page[n]);
		if (n % 256 == 255)
			cond_resched();
	}
}

/* The pool is destroyed. */
static void release(void *arg)
{
	struct vread_pool_grants *grants = arg;
	unsigned int n;

	vread_ungrant_pool(grants);
	for (n = 0; n < total_pages(grants) && grants->page && grants->page[n]; n++)
		put_page(grants->page[n]);
	kvfree(grants->page);
	kvfree(grants->gref);
	*grants = (struct vread_pool_grants){};
}

/* Allocates and grants the pages.  After an error, release() frees what there is. */
static int make_pages(struct vread_pool_grants *grants, domid_t domid, unsigned int pages)
{
	int err;

	grants->pages = pages;
	grants->directory_pages = DIV_ROUND_UP(pages, VREAD_DIRECTORY_REFS);
	grants->page = kvcalloc(total_pages(grants), sizeof(*grants->page), GFP_KERNEL);
	grants->gref = kvcalloc(total_pages(grants), sizeof(*grants->gref), GFP_KERNEL);
	if (!grants->page || !grants->gref)
		return -ENOMEM;
	err = alloc_pages_into(grants->page, total_pages(grants));
	return err ? err : grant_all(grants, domid);
}

struct vread_pool *vread_grant_pool(struct vread_pool_grants *grants, domid_t domid,
				    unsigned int pages)
{
	struct vread_pool *pool = vread_pool_create(pages, release, grants);
	unsigned int n;
	int err;

	if (IS_ERR(pool))
		return pool;
	err = make_pages(grants, domid, pages);
	if (err) {
		vread_pool_destroy(pool);
		return ERR_PTR(err);
	}
	for (n = 0; n < pages; n++)
		pool->frame[n] = (struct vread_frame){
			.address = page_address(grants->page[n]),
			.pfn = page_to_pfn(grants->page[n]),
		};
	return pool;
}

grant_ref_t vread_pool_directory(const struct vread_pool_grants *grants)
{
	return grants->gref[grants->pages];
}
