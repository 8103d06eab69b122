// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements map.h with libxengnttab. connect.c calls it.
 *
 * One call maps the whole pool, because the pool must be contiguous here. libxengnttab maps all of
 * its pages or none.
 */
#include "port/xen/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Copies one directory page, because its content must not change while it is parsed. */
static int copy_directory_page(struct xen_map *m, uint32_t domid, uint32_t ref,
			       struct vread_pool_directory *copy, char *error)
{
	void *page = xengnttab_map_grant_ref(m->gnttab, domid, ref, PROT_READ);
	int err = errno;

	if (!page) {
		snprintf(error, XEN_ERROR_SIZE, "cannot map the pool directory page %u: %s", ref,
			 strerror(err));
		return err ? -err : -EIO;
	}
	memcpy(copy, page, sizeof(*copy));
	xengnttab_unmap(m->gnttab, page, 1);
	return 0;
}

/* Reads exactly as many directory pages as the pool needs. So a chain without end does no harm. */
static int read_directory(struct xen_map *m, uint32_t domid, const struct xen_offer *o,
			  uint32_t *refs, char *error)
{
	struct vread_pool_directory copy;
	uint32_t next = o->pool_directory;

	_Static_assert(sizeof(copy) == VREAD_PAGE_SIZE, "a directory fills a page");
	for (uint32_t done = 0; done < o->pool_pages; done += VREAD_DIRECTORY_REFS) {
		uint32_t ref = next;
		int r = copy_directory_page(m, domid, ref, &copy, error);
		const char *wrong;

		if (r)
			return r;
		wrong = xen_directory_parse(&copy, o->pool_pages - done, refs + done, &next);
		if (wrong) {
			snprintf(error, XEN_ERROR_SIZE,
				 "pool directory page %u (grant %u), for %u pool pages: %s",
				 done / VREAD_DIRECTORY_REFS, ref, o->pool_pages, wrong);
			return -EINVAL;
		}
	}
	return 0;
}

static int map_pool(struct xen_map *m, uint32_t domid, const struct xen_offer *o, char *error)
{
	uint32_t *refs = calloc(o->pool_pages, sizeof(*refs));
	int r = refs ? read_directory(m, domid, o, refs, error) : -ENOMEM;

	if (!refs)
		snprintf(error, XEN_ERROR_SIZE, "out of memory");
	if (!r) {
		m->pool = xengnttab_map_domain_grant_refs(m->gnttab, o->pool_pages, domid, refs,
							  PROT_READ | PROT_WRITE);
		r = m->pool ? 0 : -errno;
		if (r)
			snprintf(error, XEN_ERROR_SIZE, "cannot map the %u pages of the pool: %s",
				 o->pool_pages, strerror(-r));
		else
			m->pool_pages = o->pool_pages;
	}
	free(refs);
	return r;
}

static int map_ring(struct xen_map *m, uint32_t domid, const struct xen_offer *o, unsigned q,
		    char *error)
{
	uint32_t refs[MAX_RING_PAGES];
	int r;

	m->ring_pages = 1U << o->ring_page_order;
	memcpy(refs, o->ring_ref[q], sizeof(refs));
	m->ring[q] = xengnttab_map_domain_grant_refs(m->gnttab, m->ring_pages, domid, refs,
						     PROT_READ | PROT_WRITE);
	if (m->ring[q])
		return 0;
	r = -errno;
	snprintf(error, XEN_ERROR_SIZE, "cannot map the %u pages of ring %u: %s", m->ring_pages, q,
		 strerror(-r));
	return r;
}

int xen_map_create(struct xen_map *m, uint32_t domid, const struct xen_offer *o,
		   char error[XEN_ERROR_SIZE])
{
	int r;

	*m = (struct xen_map){.gnttab = xengnttab_open(NULL, 0)};
	if (!m->gnttab) {
		r = errno ? -errno : -EIO;
		snprintf(error, XEN_ERROR_SIZE, "cannot open the grant device: %s", strerror(-r));
		return r;
	}
	r = map_pool(m, domid, o, error);
	for (unsigned q = 0; !r && q < o->num_queues; q++)
		r = map_ring(m, domid, o, q, error);
	return r;
}

int xen_map_alive(struct xen_map *m, uint32_t domid, const struct xen_offer *o, evtchn_port_t port,
		  char error[XEN_ERROR_SIZE])
{
	int r;

	m->alive = xengnttab_map_grant_ref_notify(m->gnttab, domid, o->ring_ref[0][0],
						  PROT_READ | PROT_WRITE, VREAD_RING_ALIVE_OFFSET,
						  port);
	if (!m->alive) {
		r = errno ? -errno : -EIO;
		snprintf(error, XEN_ERROR_SIZE, "cannot map ring 0 with a notification: %s",
			 strerror(-r));
		return r;
	}
	__atomic_store_n(m->alive + VREAD_RING_ALIVE_OFFSET, 1, __ATOMIC_RELEASE);
	return 0;
}

uint32_t xen_map_destroy(struct xen_map *m)
{
	uint32_t pages = 0;

	if (m->alive) { /* first, so that the frontend is told at once */
		xengnttab_unmap(m->gnttab, m->alive, 1);
		pages++;
	}
	for (unsigned q = 0; q < VREAD_MAX_QUEUES; q++)
		if (m->ring[q]) {
			xengnttab_unmap(m->gnttab, m->ring[q], m->ring_pages);
			pages += m->ring_pages;
		}
	if (m->pool) {
		xengnttab_unmap(m->gnttab, m->pool, m->pool_pages);
		pages += m->pool_pages;
	}
	if (m->gnttab)
		xengnttab_close(m->gnttab);
	*m = (struct xen_map){0};
	return pages;
}
