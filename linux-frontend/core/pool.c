// SPDX-License-Identifier: GPL-2.0
/*
 * Implements pool.h.  The pool consists of whole pages that hold nothing else.
 *
 * User mappings are made of bare page frames (VM_PFNMAP), which cannot be pinned.  A process that
 * pinned a page (vmsplice, O_DIRECT) could still read it when the slice belongs to another
 * process.  The open file keeps the pages alive instead.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "check.h"
#include "pool.h"
#include "vreadif.h"

static LIST_HEAD(pools);
static DEFINE_RAW_SPINLOCK(pools_lock); /* raw: never held while vread_pools_touch() runs */

void *vread_pool_address(const struct vread_pool *pool, unsigned int page)
{
	return pool->frame[page].address;
}

struct vread_pool *vread_pool_create(unsigned int pages, void (*release)(void *arg), void *arg)
{
	struct vread_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->node);
	pool->pages = pages;
	/* At least the data of one OPEN, and enough for many processes to open at once. */
	pool->control_pages = clamp(pages / 64, VREAD_MAX_OPEN_DATA / VREAD_PAGE_SIZE, 64U);
	pool->free = pages - pool->control_pages;
	pool->small_pages = vread_small_pages(pool->free);
	pool->frame = kvcalloc(pages, sizeof(*pool->frame), GFP_KERNEL);
	pool->used = bitmap_zalloc(pages, GFP_KERNEL);
	pool->stale = bitmap_zalloc(pages, GFP_KERNEL);
	if (!pool->frame || !pool->used || !pool->stale) {
		vread_pool_destroy(pool);
		return ERR_PTR(-ENOMEM);
	}
	pool->release = release;
	pool->release_arg = arg;
	raw_spin_lock(&pools_lock);
	list_add(&pool->node, &pools);
	raw_spin_unlock(&pools_lock);
	return pool;
}
EXPORT_SYMBOL_GPL(vread_pool_create);

/* Frees what vread_pool_move() allocated. */
static void free_moved(struct vread_pool *pool)
{
	unsigned int n;

	for (n = 0; pool->spare && n < pool->pages; n++)
		if (pool->frame[n].address != pool->spare)
			free_page((unsigned long)pool->frame[n].address);
	free_page((unsigned long)pool->spare);
}

void vread_pool_destroy(struct vread_pool *pool)
{
	if (!pool)
		return;
	raw_spin_lock(&pools_lock);
	list_del_init(&pool->node);
	raw_spin_unlock(&pools_lock);
	free_moved(pool);
	if (pool->release)
		pool->release(pool->release_arg);
	kvfree(pool->frame);
	bitmap_free(pool->used);
	bitmap_free(pool->stale);
	kfree(pool);
}
EXPORT_SYMBOL_GPL(vread_pool_destroy);

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
	list_for_each_entry(pool, &pools, node)
		for_each_set_bit(n, pool->used, pool->pages)
			atomic_or(0, (atomic_t *)vread_pool_address(pool, n));
}
EXPORT_SYMBOL_GPL(vread_pools_touch);

void vread_pool_zero(struct vread_pool *pool, unsigned int first, unsigned int pages)
{
	while (pages--) {
		clear_page(vread_pool_address(pool, first++));
		cond_resched();
	}
}
EXPORT_SYMBOL_GPL(vread_pool_zero);

/* Returns how many pages from first on have consecutive frames, at most max. */
static unsigned int run_length(const struct vread_pool *pool, unsigned int first, unsigned int max)
{
	unsigned int n = 1;

	while (n < max && pool->frame[first + n].pfn == pool->frame[first].pfn + n)
		n++;
	return n;
}

int vread_pool_mmap(struct vread_pool *pool, unsigned int first, struct vm_area_struct *vma)
{
	unsigned int left = vma_pages(vma), n;
	unsigned long addr = vma->vm_start;
	int ret;

	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYWRITE | VM_MAYEXEC);
	if (pool->spare)
		return 0; /* page faults map the pages */
	for (; left; left -= n, first += n, addr += (unsigned long)n * PAGE_SIZE) {
		n = run_length(pool, first, left);
		ret = remap_pfn_range(vma, addr, pool->frame[first].pfn,
				      (unsigned long)n * PAGE_SIZE, vma->vm_page_prot);
		if (ret)
			return ret;
	}
	return 0;
}

vm_fault_t vread_pool_fault(const struct vread_pool *pool, unsigned int page, struct vm_fault *vmf)
{
	unsigned long pfn = pool->frame[page].pfn;

	return pfn ? vmf_insert_pfn(vmf->vma, vmf->address, pfn) : VM_FAULT_SIGBUS;
}

/* Copies a page into ordinary memory.  Without memory, its bytes are lost. */
static struct vread_frame moved(const struct vread_frame *from, void *spare)
{
	void *to = (void *)__get_free_page(GFP_KERNEL);

	if (!to)
		return (struct vread_frame){.address = spare};
	copy_page(to, from->address);
	return (struct vread_frame){.address = to, .pfn = PHYS_PFN(virt_to_phys(to))};
}

void vread_pool_move(struct vread_pool *pool)
{
	void *spare = (void *)get_zeroed_page(GFP_KERNEL | __GFP_NOFAIL);
	struct vread_frame unused = {.address = spare};
	unsigned int n;

	for (n = 0; n < pool->pages; n++) {
		if (n >= pool->control_pages && test_bit(n, pool->used))
			pool->frame[n] = moved(&pool->frame[n], spare);
		else
			pool->frame[n] = unused;
		cond_resched();
	}
	pool->spare = spare;
}
