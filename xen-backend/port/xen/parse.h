/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h - parses a frontend's offer, from nodes that the guest writes as it likes. connect.c
 * calls xen_offer_parse(). map.c calls xen_directory_parse().
 *
 * The functions are pure: the caller gives a function that reads nodes. Only nodes that the values
 * already read imply are read. Each node must have the expected word or a number in its range.
 * Otherwise the offer is refused with a text that names the node, its value and the expected value.
 */
#ifndef VREAD_XEN_PARSE_H
#define VREAD_XEN_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "vread-ring-user.h"

#define MAX_RING_PAGES (1U << VREAD_MAX_RING_PAGE_ORDER)

struct xen_limits {
	unsigned max_queues;
	unsigned max_ring_page_order;
	uint32_t max_pool_pages;
};

struct xen_offer {
	unsigned num_queues;
	unsigned ring_page_order;
	uint32_t ring_ref[VREAD_MAX_QUEUES][MAX_RING_PAGES];
	uint32_t event_channel[VREAD_MAX_QUEUES];
	uint32_t pool_pages;
	uint32_t pool_directory;
};

/*
 * Returns the value of a node relative to the frontend directory (free() it), or NULL if the node
 * is absent.
 */
typedef char *xen_read_node_fn(void *ctx, const char *node);

#define XEN_ERROR_SIZE 200

/* 0, or -EINVAL, -EPROTO (version), -EACCES (role) with a text in error. */
int xen_offer_parse(xen_read_node_fn *read_node, void *ctx, const struct xen_limits *limits,
		    enum policy_role role, struct xen_offer *ret, char error[XEN_ERROR_SIZE]);

/*
 * Copies the grant references of one directory page to refs and sets *ret_next to the next
 * directory page. pages_left: how many pool pages remain to be listed. NULL, or what is wrong with
 * the chain (static string).
 */
const char *xen_directory_parse(const struct vread_pool_directory *page, uint32_t pages_left,
				uint32_t *refs, uint32_t *ret_next);

const char *xen_role_name(enum policy_role role);

#endif
