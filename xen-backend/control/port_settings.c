// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * port_settings.c - converts the port sections of a configuration to the ports' own settings.
 *
 * Called by daemon.c and reload.c.
 */
#include "control/port_settings.h"

#include <stdlib.h>

#include "base/log.h"
#include "policy/policy.h"

struct xen_settings port_xen_settings(const struct config *c)
{
	return (struct xen_settings){
		.max_queues = c->xen.max_queues,
		.max_ring_page_order = c->xen.max_ring_page_order,
		.max_pool_pages = c->xen.max_pool_pages,
	};
}

struct local_settings port_local_settings(const struct config *c)
{
	return (struct local_settings){
		.socket = c->local.socket,
		.publish_uids = c->local.publish_uids,
		.mode = c->local.mode,
		.max_connections = c->local.max_connections,
		.max_pool_pages = c->local.max_pool_pages,
		.max_total_pool_pages = c->local.max_total_pool_pages,
	};
}

bool port_ivshmem_settings(const struct config *c, struct ivshmem_settings *ret,
			   struct ivshmem_rights **ret_array)
{
	struct ivshmem_rights *rights = calloc(c->num_ivshmem + 1, sizeof(*rights));

	if (!rights) {
		log_error("[ivshmem]: out of memory");
		return false;
	}
	for (size_t i = 0; i < c->num_ivshmem; i++)
		rights[i] = (struct ivshmem_rights){
			.name = c->ivshmem[i].name,
			.role = c->ivshmem[i].role,
			.allow_datanodes = c->ivshmem[i].allow_datanodes,
			.allow_pools = c->ivshmem[i].allow_pools,
			.publish_datanodes = c->ivshmem[i].publish_datanodes,
			.unnamed_datanodes = c->ivshmem[i].unnamed_datanodes,
		};
	*ret = (struct ivshmem_settings){.socket = c->ivshmem_socket,
					 .guests = rights,
					 .num_guests = c->num_ivshmem};
	*ret_array = rights;
	return true;
}

struct policy *port_local_policy(const struct config *c)
{
	const char *error = NULL;
	struct policy *p =
		policy_new(POLICY_CLIENT, c->local.allow_datanodes, c->local.allow_pools, &error);

	if (p)
		error = policy_set_publish(p, c->local.publish_datanodes)
				?: policy_set_unnamed(p, c->local.unnamed_datanodes);
	if (p && !error)
		return p;
	log_error("[local]: expected %s", error);
	policy_free(p);
	return NULL;
}
