/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool.h - the pages that a device shares with its backend.  A transport makes a pool of pages that
 * it shares, requests take pages of it, and processes map slices of it.
 *
 * The pages are zero at first, shared once, and kept until the device and all its open files are
 * gone.  The first pages are control pages, which only the kernel sees: they carry the variable
 * part of OPEN, PUBLISH and KEYS.  The other pages are given out as slices, one to each open file.
 *
 * Shares.  The last pages are for small slices only (vread_small_pages()).  A small slice goes
 * there first and elsewhere if that part is full.  So large slices leave room for small ones, and
 * small slices do not divide the room of large ones.
 *
 * Quarantine.  After a disconnect the old backend may still have the pool mapped and may still
 * write to it, also when it is dead: an adapter for RDMA holds the pages longer than the process
 * that used it.  A range that is given back in this time stays reserved until the pool is known to
 * be mapped nowhere.
 *
 * Locking: any context unless the comment says otherwise.  The pool has its own lock, the
 * innermost lock.
 */
#ifndef VREAD_POOL_H
#define VREAD_POOL_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>

enum vread_area { VREAD_AREA_CONTROL, VREAD_AREA_SLICES };

/* A page of the pool. */
struct vread_frame {
	void *address;     /* in the kernel */
	unsigned long pfn; /* that processes map; 0: the bytes are lost */
};

struct vread_pool {
	/* Constant. */
	unsigned int pages;
	unsigned int control_pages;
	unsigned int small_pages;   /* at the end, for small slices only */
	struct vread_frame *frame;  /* of each page; see vread_pool_move() */
	void *spare;                /* NULL: the pool has not moved */
	void (*release)(void *arg); /* frees the pages */
	void *release_arg;

	spinlock_t lock;      /* protects the members of this group */
	unsigned long *used;  /* a bit for each page: given out, or in quarantine */
	unsigned long *stale; /* a bit for each page: in quarantine */
	unsigned int free;    /* number of free pages for slices */
	bool live;            /* connected */
	bool mapped;          /* the backend of the last connection may have the pool mapped */

	struct list_head node; /* in the list of all pools */
};

/* The functions up to vread_pool_zero() are for process context only. */

/* A pool whose frames are not known yet: the caller fills in frame[0 .. pages - 1].  release(arg)
 * frees the pages; vread_pool_destroy() calls it.  ERR_PTR(-ENOMEM); then release is not called. */
struct vread_pool *vread_pool_create(unsigned int pages, void (*release)(void *arg), void *arg);
/* NULL is ignored. */
void vread_pool_destroy(struct vread_pool *pool);
/* Maps pages from first on into all of vma.  The mapping is read-only and can never become
 * writable.  Nobody can pin its pages beyond its life. */
int vread_pool_mmap(struct vread_pool *pool, unsigned int first, struct vm_area_struct *vma);
/* Maps a page that is mapped no more; for a page fault. */
vm_fault_t vread_pool_fault(const struct vread_pool *pool, unsigned int page, struct vm_fault *vmf);
void vread_pool_zero(struct vread_pool *pool, unsigned int first, unsigned int pages);

/* Takes `pages` pages in a row.  0, or -ENOSPC: no such run is free; see "Shares". */
int vread_pool_take(struct vread_pool *pool, enum vread_area area, unsigned int pages,
		    unsigned int *ret_first);
void vread_pool_give(struct vread_pool *pool, unsigned int first, unsigned int pages);
/* Number of pages free for slices, and of all pages for slices. */
unsigned int vread_pool_free_pages(struct vread_pool *pool);
unsigned int vread_pool_slice_pages(const struct vread_pool *pool);
void *vread_pool_address(const struct vread_pool *pool, unsigned int page);

/* Moves the pool to ordinary memory, because the pages go away.  Used pages of slices keep their
 * bytes; for all others there is one page, whose content means nothing.  Nobody may write to pages
 * of slices meanwhile. */
void vread_pool_move(struct vread_pool *pool);

/* Writes to each used page of all pools without changing its content.  Call it while nothing else
 * runs; xen/suspend.c says why. */
void vread_pools_touch(void);

/* Tell the pool about the connection; see "Quarantine". */
void vread_pool_connected(struct vread_pool *pool);
void vread_pool_disconnected(struct vread_pool *pool);
void vread_pool_unmapped(struct vread_pool *pool);

#endif
