// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reload.c - applies a new configuration to the running daemon.
 *
 * Called by daemon.c.
 */
#include "control/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/changes.h"
#include "base/log.h"
#include "control/datanodes.h"
#include "control/port_settings.h"
#include "peer/peer.h"
#include "policy/audit.h"
#include "policy/policy.h"

/* Applies the changed settings of [local] and [xen]. */
static void apply_to_ports(const struct reload_parts *p, const struct config *was,
			   const struct config *c, const struct changes *changes)
{
	struct local_settings local = port_local_settings(c);
	struct xen_settings xen = port_xen_settings(c), old_xen = port_xen_settings(was);
	bool listed = strcmp(was->local.allow_datanodes, c->local.allow_datanodes) != 0 ||
		      strcmp(was->local.allow_pools, c->local.allow_pools) != 0 ||
		      strcmp(was->local.publish_datanodes, c->local.publish_datanodes) != 0 ||
		      strcmp(was->local.unnamed_datanodes, c->local.unnamed_datanodes) != 0;
	struct policy *policy = p->local && listed ? port_local_policy(c) : NULL;

	if (policy)
		policy_replace(p->local_policy, policy);
	if (p->local && listed)
		changes_add(changes, policy,
			    json_string(
				    policy ? "[local]: lists changed"
					   : "[local]: out of memory: lists stay as they were"));
	if (p->local)
		local_port_set(p->local, &local);
	if (p->local && strcmp(was->local.publish_uids, c->local.publish_uids) != 0)
		changes_add(changes, true, json_string("[local]: publish-uids changed"));
	if (p->local && (was->local.max_connections != c->local.max_connections ||
			 was->local.max_pool_pages != c->local.max_pool_pages ||
			 was->local.max_total_pool_pages != c->local.max_total_pool_pages))
		changes_add(changes, true, json_string("[local]: limits changed"));
	if (p->xen && memcmp(&xen, &old_xen, sizeof(xen)) != 0) {
		xen_port_set_limits(p->xen, &xen);
		changes_add(changes, true, json_string("[xen]: limits changed"));
	}
}

static const struct config_ivshmem *find_guest(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->num_ivshmem; i++)
		if (!strcmp(c->ivshmem[i].name, name))
			return &c->ivshmem[i];
	return NULL;
}

static bool same_rights(const struct config_ivshmem *a, const struct config_ivshmem *b)
{
	return a->role == b->role && !strcmp(a->allow_datanodes, b->allow_datanodes) &&
	       !strcmp(a->allow_pools, b->allow_pools) &&
	       !strcmp(a->publish_datanodes, b->publish_datanodes) &&
	       !strcmp(a->unnamed_datanodes, b->unnamed_datanodes);
}

/* Says of which guests of KVM the rights have changed. */
static void note_guests(const struct config *was, const struct config *c,
			const struct changes *changes)
{
	const struct config_ivshmem *other;
	const char *name;

	for (size_t i = 0; i < c->num_ivshmem; i++) {
		name = c->ivshmem[i].name;
		other = find_guest(was, name);
		if (!other)
			changes_add(changes, true, json_sprintf("[ivshmem %s]: added", name));
		else if (!same_rights(&c->ivshmem[i], other))
			changes_add(changes, true,
				    json_sprintf("[ivshmem %s]: rights changed", name));
	}
	for (size_t i = 0; i < was->num_ivshmem; i++)
		if (!find_guest(c, was->ivshmem[i].name))
			changes_add(changes, true,
				    json_sprintf("[ivshmem %s]: removed", was->ivshmem[i].name));
}

/* Without memory no guest of KVM has rights: the strings of the old ones end. */
static void apply_to_guests(struct ivshmem_port *port, const struct config *was,
			    const struct config *c, const struct changes *changes)
{
	struct ivshmem_settings settings = {0};
	struct ivshmem_rights *rights = NULL;
	int r;

	port_ivshmem_settings(c, &settings, &rights);
	r = ivshmem_port_set(port, &settings);
	if (r)
		changes_add(changes, false,
			    json_sprintf("[ivshmem]: cannot serve guests: %s", strerror(-r)));
	free(rights);
	note_guests(was, c, changes);
}

/* Reads the peers' certificate files again.  Their paths change only with a restart. */
static void read_certificates(struct peers *peers, const struct changes *changes)
{
	char *error = NULL;

	if (peers && peers_reload_credentials(peers, &error))
		changes_add(changes, false,
			    json_sprintf("[peers]: certificates stay as they were: %s",
					 error ? error : "out of memory"));
	free(error);
}

static void log_changes(const struct changes *changes)
{
	const json_t *change;
	size_t i;

	json_array_foreach(changes->made, i, change)
		log_info("reload: %s", json_string_value(change));
	json_array_foreach(changes->failed, i, change)
		log_error("reload: %s", json_string_value(change));
}

json_t *reload_apply(const struct reload_parts *p, const struct config *was, const struct config *c)
{
	const struct changes both = {json_array(), json_array()}, *changes = &both;

	if (!p->keep_log_level && was->log_level != c->log_level) {
		log_set_level(c->log_level);
		changes_add(changes, true, json_string("[vreadd]: log-level changed"));
	}
	if (was->audit != c->audit) {
		audit_set(c->audit);
		changes_add(changes, true, json_string("[vreadd]: audit changed"));
	}
	datanodes_reload(p->datanodes, c, changes);
	apply_to_ports(p, was, c, changes);
	apply_to_guests(p->ivshmem, was, c, changes);
	if (p->peers)
		peers_reload(p->peers, &c->peers, changes);
	read_certificates(p->peers, changes);
	log_changes(changes);
	return json_pack("{s:s, s:o, s:o}", "result", "applied", "changes", both.made, "failed",
			 both.failed);
}

/* Logs each problem.  problems: as of config_load(). */
static void log_problems(const json_t *problems)
{
	char *text = config_problems_text(problems), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			log_error("reload: %s", line);
	free(text);
}

json_t *reload_refused(json_t *problems)
{
	log_problems(problems);
	log_error("reload: refused, nothing was changed");
	return json_pack("{s:s, s:o}", "result", "refused", "problems",
			 problems ? problems : json_array());
}
