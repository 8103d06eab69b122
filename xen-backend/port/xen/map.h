/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - a frontend's granted pages in our address space.
 *
 * One gntdev handle per connection.  Whatever was mapped is unmapped by
 * xen_map_destroy(), from any state xen_map_create() left.
 */
#ifndef VREAD_XEN_MAP_H
#define VREAD_XEN_MAP_H

#include <xengnttab.h>

#include "port/xen/parse.h"

struct xen_map {
	xengnttab_handle *gnttab;
	uint8_t *pool;
	uint32_t pool_pages;
	void *ring[VREAD_MAX_QUEUES];
	uint32_t ring_pages; /* of each */
	uint8_t *alive;      /* page 0 of queue 0's ring a second time */
};

/* Maps pool and rings; 0, or negative errno with the text and less than all mapped. */
int xen_map_create(struct xen_map *m, uint32_t domid, const struct xen_offer *offer,
		   char error[XEN_ERROR_SIZE]);
/*
 * Sets the alive byte on a mapping of its own, whose end, for whatever reason,
 * clears the byte and sends an event on the local port given.
 */
int xen_map_alive(struct xen_map *m, uint32_t domid, const struct xen_offer *offer,
		  evtchn_port_t port, char error[XEN_ERROR_SIZE]);
/* Unmaps everything; how many pages there were. */
uint32_t xen_map_destroy(struct xen_map *m);

#endif
