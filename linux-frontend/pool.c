// SPDX-License-Identifier: GPL-2.0
/*
 * Implements pool.h.  The pool consists of whole pages that are zeroed before they are granted, and
 * that hold nothing else.
 *
 * Page n of the protocol's pool is page[n].  The directory pages follow in the same arrays.  They
 * are granted read-only, for as long as the pool, because a backend that reconnects reads them
 * again.
 *
 * User mappings are made of bare page frames (VM_PFNMAP), which cannot be pinned.  A process that
 * pinned a page (vmsplice, O_DIRECT) could still read it when the slice belongs to another
 * process.  The open file keeps the pages alive instead.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <xen/page.h>

#include "check.h"
#include "compat.h"
#include "pool.h"
#include "vreadif.h"

/* Neighbouring pages are mapped with one call, so pages are allocated in runs if possible. */
#define RUN_PAGES 16U

static LIST_HEAD(pools);
static DEFINE_RAW_SPINLOCK(pools_lock); /* raw: never held while vread_pools_touch() runs */

static unsigned int total_pages(const struct vread_pool *pool)
{
	return pool->pages + pool->directory_pages;
}

void *vread_pool_address(const struct vread_pool *pool, unsigned int page)
{
	return page_address(pool->page[page]);
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

static void fill_directory(struct vread_pool *pool)
{
	unsigned int d, i, n;
	struct vread_pool_directory *dir;

	for (d = 0; d < pool->directory_pages; d++) {
		dir = vread_pool_address(pool, pool->pages + d);
		n = min(pool->pages - d * VREAD_DIRECTORY_REFS, VREAD_DIRECTORY_REFS);
		for (i = 0; i < n; i++)
			dir->gref[i] = pool->gref[d * VREAD_DIRECTORY_REFS + i];
		dir->gref_next_page =
			d + 1 < pool->directory_pages ? pool->gref[pool->pages + d + 1] : 0;
	}
}

static void grant_page(struct vread_pool *pool, unsigned int n, domid_t domid)
{
	gnttab_grant_foreign_access_ref(pool->gref[n], domid, xen_page_to_gfn(pool->page[n]),
					n >= pool->pages);
}

static int grant_all(struct vread_pool *pool, domid_t domid)
{
	grant_ref_t head;
	unsigned int n;

	if (gnttab_alloc_grant_references(total_pages(pool), &head))
		return -ENOSPC;
	for (n = 0; n < total_pages(pool); n++)
		pool->gref[n] = gnttab_claim_grant_reference(&head);
	gnttab_free_grant_references(head);

	fill_directory(pool);
	for (n = 0; n < total_pages(pool); n++)
		grant_page(pool, n, domid);
	pool->granted = true;
	return 0;
}

int vread_pool_regrant(struct vread_pool *pool, domid_t domid)
{
	unsigned int n;

	for (n = 0; n < total_pages(pool); n++) {
		if (!vread_end_access_ref(pool->gref[n]))
			return -EBUSY;
		grant_page(pool, n, domid);
	}
	return 0;
}

void vread_pool_revoke(struct vread_pool *pool)
{
	unsigned int n;

	if (!pool->granted)
		return;
	pool->granted = false;
	for (n = 0; n < total_pages(pool); n++) {
		get_page(pool->page[n]);
		vread_end_access(pool->gref[n], pool->page[n]);
		if (n % 256 == 255)
			cond_resched();
	}
}

void vread_pool_destroy(struct vread_pool *pool)
{
	unsigned int n;

	if (!pool)
		return;
	raw_spin_lock(&pools_lock);
	list_del_init(&pool->node);
	raw_spin_unlock(&pools_lock);
	vread_pool_revoke(pool);
	for (n = 0; n < total_pages(pool) && pool->page && pool->page[n]; n++)
		put_page(pool->page[n]);
	kvfree(pool->page);
	kvfree(pool->gref);
	bitmap_free(pool->used);
	bitmap_free(pool->stale);
	kfree(pool);
}

struct vread_pool *vread_pool_create(domid_t domid, unsigned int pages)
{
	struct vread_pool *pool;
	int ret = -ENOMEM;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->node);
	pool->pages = pages;
	/* At least the data of one OPEN, and enough for many processes to open at once. */
	pool->control_pages = clamp(pages / 64, VREAD_MAX_OPEN_DATA / VREAD_PAGE_SIZE, 64U);
	pool->directory_pages = DIV_ROUND_UP(pages, VREAD_DIRECTORY_REFS);
	pool->free = pages - pool->control_pages;
	pool->small_pages = vread_small_pages(pool->free);
	pool->page = kvcalloc(total_pages(pool), sizeof(*pool->page), GFP_KERNEL);
	pool->gref = kvcalloc(total_pages(pool), sizeof(*pool->gref), GFP_KERNEL);
	pool->used = bitmap_zalloc(pages, GFP_KERNEL);
	pool->stale = bitmap_zalloc(pages, GFP_KERNEL);
	if (!pool->page || !pool->gref || !pool->used || !pool->stale)
		goto fail;
	ret = alloc_pages_into(pool->page, total_pages(pool));
	if (!ret)
		ret = grant_all(pool, domid);
	if (ret)
		goto fail;
	raw_spin_lock(&pools_lock);
	list_add(&pool->node, &pools);
	raw_spin_unlock(&pools_lock);
	return pool;
fail:
	vread_pool_destroy(pool);
	return ERR_PTR(ret);
}

grant_ref_t vread_pool_directory(const struct vread_pool *pool)
{
	return pool->gref[pool->pages];
}

unsigned int vread_pool_slice_pages(const struct vread_pool *pool)
{
	return pool->pages - pool->control_pages;
}

/* Takes pages of begin .. end - 1.  Call it with the lock. */
static int take_between(struct vread_pool *pool, unsigned int begin, unsigned int end,
			unsigned int pages, unsigned int *ret_first)
{
	unsigned long first = bitmap_find_next_zero_area(pool->used, end, begin, pages, 0);

	if (first >= end)
		return -ENOSPC;
	bitmap_set(pool->used, first, pages);
	*ret_first = first;
	return 0;
}

/* Takes a slice.  Call it with the lock. */
static int take_slice(struct vread_pool *pool, unsigned int pages, unsigned int *ret_first)
{
	unsigned int small = pool->pages - pool->small_pages;
	int ret = -ENOSPC;

	if (pages <= VREAD_SMALL_SHARE_PAGES)
		ret = take_between(pool, small, pool->pages, pages, ret_first);
	if (ret)
		ret = take_between(pool, pool->control_pages, small, pages, ret_first);
	if (!ret)
		pool->free -= pages;
	return ret;
}

int vread_pool_take(struct vread_pool *pool, enum vread_area area, unsigned int pages,
		    unsigned int *ret_first)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&pool->lock, flags);
	if (area == VREAD_AREA_SLICES)
		ret = take_slice(pool, pages, ret_first);
	else
		ret = take_between(pool, 0, pool->control_pages, pages, ret_first);
	spin_unlock_irqrestore(&pool->lock, flags);
	return ret;
}

void vread_pool_give(struct vread_pool *pool, unsigned int first, unsigned int pages)
{
	bool slices = first >= pool->control_pages;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	/* Backends only read control pages, so these need no quarantine. */
	if (slices && pool->mapped && !pool->live) {
		bitmap_set(pool->stale, first, pages);
	} else {
		bitmap_clear(pool->used, first, pages);
		if (slices)
			pool->free += pages;
	}
	spin_unlock_irqrestore(&pool->lock, flags);
}

unsigned int vread_pool_free_pages(struct vread_pool *pool)
{
	return READ_ONCE(pool->free);
}

void vread_pool_connected(struct vread_pool *pool)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	pool->mapped = true;
	pool->live = true;
	spin_unlock_irqrestore(&pool->lock, flags);
}

void vread_pool_disconnected(struct vread_pool *pool)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	pool->live = false;
	spin_unlock_irqrestore(&pool->lock, flags);
}

void vread_pool_unmapped(struct vread_pool *pool)
{
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	pool->mapped = false;
	pool->free += bitmap_weight(pool->stale, pool->pages);
	bitmap_andnot(pool->used, pool->used, pool->stale, pool->pages);
	bitmap_zero(pool->stale, pool->pages);
	spin_unlock_irqrestore(&pool->lock, flags);
}

void vread_pools_touch(void)
{
	struct vread_pool *pool;
	unsigned int n;

	/* An atomic OR of 0, because the backend may be writing to the page at the same time. */
	list_for_each_entry (pool, &pools, node)
		for_each_set_bit(n, pool->used, pool->pages)
			atomic_or(0, (atomic_t *)vread_pool_address(pool, n));
}

void vread_pool_zero(struct vread_pool *pool, unsigned int first, unsigned int pages)
{
	while (pages--) {
		clear_page(vread_pool_address(pool, first++));
		cond_resched();
	}
}

/* Returns how many pages from first on have consecutive frames, at most max. */
static unsigned int run_length(const struct vread_pool *pool, unsigned int first, unsigned int max)
{
	unsigned int n = 1;

	while (n < max && page_to_pfn(pool->page[first + n]) == page_to_pfn(pool->page[first]) + n)
		n++;
	return n;
}

int vread_pool_mmap(struct vread_pool *pool, unsigned int first, struct vm_area_struct *vma)
{
	unsigned int left = vma_pages(vma), n;
	unsigned long addr = vma->vm_start;
	int ret;

	vread_vm_flags(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
		       VM_MAYWRITE | VM_MAYEXEC);
	for (; left; left -= n, first += n, addr += (unsigned long)n * PAGE_SIZE) {
		n = run_length(pool, first, left);
		ret = remap_pfn_range(vma, addr, page_to_pfn(pool->page[first]),
				      (unsigned long)n * PAGE_SIZE, vma->vm_page_prot);
		if (ret)
			return ret;
	}
	return 0;
}
