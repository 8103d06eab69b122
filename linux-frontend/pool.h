/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pool.h - the pages a backend writes file data into.
 *
 * Allocated zeroed and granted once, then kept until the device and every open
 * file of it are gone; a reconnect offers the same grants again.  The first pages
 * are control pages, private to the kernel (OPEN's variable part); the rest is
 * given out as slices, one to an open file.
 *
 * Quarantine.  A range given back while a backend we no longer talk to may still
 * have it mapped (and may be writing to it) is not handed out again before that
 * backend is known to have unmapped the pool.
 *
 * Locking: any context unless said; the pool has its own lock, the innermost one.
 */
#ifndef VREAD_POOL_H
#define VREAD_POOL_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <xen/grant_table.h>

enum vread_area { VREAD_AREA_CONTROL, VREAD_AREA_SLICES };

struct vread_pool {
	/* Constant. */
	unsigned int pages;
	unsigned int control_pages;
	unsigned int directory_pages;
	struct page **page; /* the pool, then the directory */
	grant_ref_t *gref;  /* likewise */

	spinlock_t lock;
	unsigned long *used;  /* given out, or in quarantine */
	unsigned long *stale; /* in quarantine */
	unsigned int free;    /* pages of the slice area */
	bool live;            /* connected */
	bool mapped;          /* the backend of the last connection may have it mapped */

	struct list_head node; /* in the list of all pools */
	bool granted;          /* process context, serialised by the device */
};

/* Process context. */
struct vread_pool *vread_pool_create(domid_t domid, unsigned int pages);
void vread_pool_destroy(struct vread_pool *pool);
/* Grants everything anew, after a restore emptied the grant table. */
int vread_pool_regrant(struct vread_pool *pool, domid_t domid);
/* The device is gone: ends all grants.  Pages live on for those who map them. */
void vread_pool_revoke(struct vread_pool *pool);
grant_ref_t vread_pool_directory(const struct vread_pool *pool);
/* Maps pages from first on into all of vma, which is then neither writable nor can
 * ever be, and whose pages cannot be pinned beyond the life of the mapping. */
int vread_pool_mmap(struct vread_pool *pool, unsigned int first, struct vm_area_struct *vma);
void vread_pool_zero(struct vread_pool *pool, unsigned int first, unsigned int pages);

/* 0, or -ENOSPC: no such run is free. */
int vread_pool_take(struct vread_pool *pool, enum vread_area area, unsigned int pages,
		    unsigned int *ret_first);
void vread_pool_give(struct vread_pool *pool, unsigned int first, unsigned int pages);
unsigned int vread_pool_free_pages(struct vread_pool *pool);
unsigned int vread_pool_slice_pages(const struct vread_pool *pool);
void *vread_pool_address(const struct vread_pool *pool, unsigned int page);

/* Writes to each page in use of all pools, without changing it.  With nothing else running. */
void vread_pools_touch(void);

/* What becomes of the connection; see "Quarantine". */
void vread_pool_connected(struct vread_pool *pool);
void vread_pool_disconnected(struct vread_pool *pool);
void vread_pool_unmapped(struct vread_pool *pool);

#endif
