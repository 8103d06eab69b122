// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements parse.h: parses each node strictly. connect.c and map.c call it.
 */
#include "port/xen/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "vread-nodes.h"

#define MAX_EVENT_CHANNEL ((1U << 17) - 1) /* highest port of the FIFO ABI */

struct parser {
	xen_read_node_fn *read_node;
	void *ctx;
	char *error;
};

/* Makes a text that a guest wrote fit for a message. */
static void printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

static char *read_node(struct parser *p, const char *node)
{
	char *value = p->read_node(p->ctx, node);

	if (value)
		printable(value);
	return value;
}

static int number(struct parser *p, const char *node, uint32_t min, uint32_t max, uint32_t *ret)
{
	char *value = read_node(p, node);

	if (value && parse_number(value, min, max, ret)) {
		free(value);
		return 0;
	}
	snprintf(p->error, XEN_ERROR_SIZE, "%s: %s%.32s%s: expected a number from %u to %u", node,
		 value ? "\"" : "", value ? value : "missing", value ? "\"" : "", min, max);
	free(value);
	return -EINVAL;
}

static int word(struct parser *p, const char *node, const char *expected, int err)
{
	char *value = read_node(p, node);

	if (value && strcmp(value, expected) == 0) {
		free(value);
		return 0;
	}
	snprintf(p->error, XEN_ERROR_SIZE, "%s: %s%.32s%s: expected \"%s\"", node,
		 value ? "\"" : "", value ? value : "missing", value ? "\"" : "", expected);
	free(value);
	return err;
}

static int queue(struct parser *p, struct xen_offer *o, unsigned q)
{
	char node[64];

	for (unsigned m = 0; m < 1U << o->ring_page_order; m++) {
		int r;

		snprintf(node, sizeof(node), VREAD_NODE_RING_REF, q, m);
		r = number(p, node, 1, UINT32_MAX, &o->ring_ref[q][m]);
		if (r)
			return r;
	}
	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, q);
	return number(p, node, 1, MAX_EVENT_CHANNEL, &o->event_channel[q]);
}

const char *xen_role_name(enum policy_role role)
{
	return role == POLICY_DATANODE ? "datanode" : "client";
}

int xen_offer_parse(xen_read_node_fn *read_node_fn, void *ctx, const struct xen_limits *limits,
		    enum policy_role role, struct xen_offer *ret, char error[XEN_ERROR_SIZE])
{
	struct parser p = {read_node_fn, ctx, error};
	struct xen_offer o = {0};
	int r = word(&p, VREAD_NODE_VERSION, "1", -EPROTO);

	if (!r)
		r = word(&p, VREAD_NODE_ROLE, xen_role_name(role), -EACCES);
	if (!r)
		r = number(&p, VREAD_NODE_NUM_QUEUES, 1, limits->max_queues, &o.num_queues);
	if (!r)
		r = number(&p, VREAD_NODE_RING_PAGE_ORDER, 0, limits->max_ring_page_order,
			   &o.ring_page_order);
	if (!r)
		r = number(&p, VREAD_NODE_POOL_PAGES, VREAD_MIN_POOL_PAGES, limits->max_pool_pages,
			   &o.pool_pages);
	if (!r)
		r = number(&p, VREAD_NODE_POOL_DIRECTORY, 1, UINT32_MAX, &o.pool_directory);
	for (unsigned q = 0; !r && q < o.num_queues; q++)
		r = queue(&p, &o, q);
	if (!r)
		*ret = o;
	return r;
}

const char *xen_directory_parse(const struct vread_pool_directory *page, uint32_t pages_left,
				uint32_t *refs, uint32_t *ret_next)
{
	uint32_t here = pages_left < VREAD_DIRECTORY_REFS ? pages_left : VREAD_DIRECTORY_REFS;

	if (pages_left > here && !page->gref_next_page)
		return "the chain ends before all pool pages are listed";
	if (pages_left == here && page->gref_next_page)
		return "the chain continues after all pool pages are listed";
	for (uint32_t i = 0; i < here; i++) {
		if (!page->gref[i])
			return "a pool page has grant reference 0";
		refs[i] = page->gref[i];
	}
	*ret_next = page->gref_next_page;
	return NULL;
}
