// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements rights.h. connect.c and device.c call it.
 *
 * The nodes are in the backend directory, which a guest cannot write.
 */
#include "port/xen/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "port/xen/store.h"
#include "vread-nodes.h"

/* The nodes, in the order in which they are read. */
enum { ROLE, ALLOW_DATANODES, ALLOW_POOLS, PUBLISH_DATANODES, UNNAMED_DATANODES, NUM_NODES };
static const struct {
	const char *name, *absent;
} nodes[NUM_NODES] = {
	[ROLE] = {VREAD_NODE_ROLE, "client"},
	[ALLOW_DATANODES] = {VREAD_NODE_ALLOW_DATANODES, ""},
	[ALLOW_POOLS] = {VREAD_NODE_ALLOW_POOLS, "*"},
	[PUBLISH_DATANODES] = {VREAD_NODE_PUBLISH_DATANODES, ""},
	[UNNAMED_DATANODES] = {VREAD_NODE_UNNAMED_DATANODES, ""},
};

/* Reads a node, or returns a copy of the value that stands for an absent node. */
static int read_node(const struct xen_device *d, unsigned n, char **ret)
{
	int r = store_read(d->port->xs, XBT_NULL, ret, "%s/%s", d->backend_path, nodes[n].name);

	if (r != -ENOENT)
		return r;
	*ret = strdup(nodes[n].absent);
	return *ret ? 0 : -ENOMEM;
}

static int refuse_lists(const char *wrong, char *error)
{
	snprintf(error, XEN_ERROR_SIZE,
		 "backend allow-datanodes, allow-pools, publish-datanodes or unnamed-datanodes: "
		 "expected %s",
		 wrong);
	return -EINVAL;
}

static int make_policy(char *const values[NUM_NODES], struct policy **ret, char *error)
{
	const char *role = values[ROLE], *wrong;
	bool datanode = strcmp(role, "datanode") == 0;
	struct policy *p;

	if (!datanode && strcmp(role, "client") != 0) {
		snprintf(error, XEN_ERROR_SIZE,
			 "backend role: \"%.32s\": expected client or datanode", role);
		return -EINVAL;
	}
	p = policy_new(datanode ? POLICY_DATANODE : POLICY_CLIENT, values[ALLOW_DATANODES],
		       values[ALLOW_POOLS], &wrong);
	if (!p)
		return refuse_lists(wrong, error);
	wrong = policy_set_publish(p, values[PUBLISH_DATANODES])
			?: policy_set_unnamed(p, values[UNNAMED_DATANODES]);
	if (wrong) {
		policy_free(p);
		return refuse_lists(wrong, error);
	}
	*ret = p;
	return 0;
}

int xen_rights_read(struct xen_device *d, struct policy **ret, char error[XEN_ERROR_SIZE])
{
	char *values[NUM_NODES] = {NULL};
	int r = 0;

	for (unsigned n = 0; !r && n < NUM_NODES; n++)
		r = read_node(d, n, &values[n]);
	if (r)
		snprintf(error, XEN_ERROR_SIZE, "cannot read the rights: %s", strerror(-r));
	else
		r = make_policy(values, ret, error);
	for (unsigned n = 0; n < NUM_NODES; n++)
		free(values[n]);
	return r;
}
