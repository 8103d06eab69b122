/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - maps a frontend's granted pages into our address space. connect.c calls these functions.
 *
 * There is one gntdev handle per connection. xen_map_destroy() unmaps everything, in any state that
 * xen_map_create() left.
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
	uint32_t ring_pages; /* of each ring */
	uint8_t *alive;      /* a second mapping of page 0 of queue 0's ring */
};

/* Maps pool and rings. 0, or negative errno with a text in error; then not everything is mapped. */
int xen_map_create(struct xen_map *m, uint32_t domid, const struct xen_offer *offer,
		   char error[XEN_ERROR_SIZE]);
/*
 * Sets the alive byte through a mapping of its own. When that mapping ends, for whatever reason,
 * the kernel clears the byte and sends an event on the local port `port`. 0, or negative errno with
 * a text in error.
 */
int xen_map_alive(struct xen_map *m, uint32_t domid, const struct xen_offer *offer,
		  evtchn_port_t port, char error[XEN_ERROR_SIZE]);
/* Unmaps everything. Returns how many pages were mapped. */
uint32_t xen_map_destroy(struct xen_map *m);

#endif
