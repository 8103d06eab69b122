/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.c - implements device.h: creates and removes the xenstore directories of a device. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/xenbus.h>

#include "../kvm.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "vread-nodes.h"

int xs_device_init(struct xs_device *d, unsigned domid, unsigned id)
{
	*d = (struct xs_device){.domid = domid, .id = id};
	d->xs = xs_open(0);
	if (!d->xs)
		return kvm_no_xenstore(errno);
	snprintf(d->frontend, sizeof(d->frontend), "/local/domain/%u/device/%s/%u", domid,
		 VREAD_DEVICE_TYPE, id);
	snprintf(d->backend, sizeof(d->backend), "/local/domain/%u/backend/%s/%u/%u",
		 d->backend_domid, VREAD_DEVICE_TYPE, domid, id);
	snprintf(d->datanode, sizeof(d->datanode), VREAD_DATANODE_DIRECTORY, d->backend_domid,
		 domid, id);
	return CLI_OK;
}

void xs_device_done(struct xs_device *d)
{
	xs_close(d->xs);
}

/* ---- nodes ----------------------------------------------------------------- */

static bool node_exists(struct xs_device *d, xs_transaction_t t, const char *path)
{
	unsigned length;
	char *value = xs_read(d->xs, t, path, &length);

	free(value);
	return value;
}

static bool put(struct xs_device *d, xs_transaction_t t, const char *directory, const char *node,
		const char *value)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", directory, node);
	return xs_write(d->xs, t, path, value, (unsigned)strlen(value));
}

static bool put_number(struct xs_device *d, xs_transaction_t t, const char *directory,
		       const char *node, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return put(d, t, directory, node, text);
}

/* Makes a directory that owner owns and reader may read.  Nodes made below it inherit this. */
static bool make_directory(struct xs_device *d, xs_transaction_t t, const char *path,
			   unsigned owner, unsigned reader)
{
	struct xs_permissions permissions[] = {
		{.id = owner, .perms = XS_PERM_NONE},
		{.id = reader, .perms = XS_PERM_READ},
	};

	return xs_mkdir(d->xs, t, path) && xs_set_permissions(d->xs, t, path, permissions, 2);
}

static bool put_frontend(struct xs_device *d, xs_transaction_t t)
{
	return make_directory(d, t, d->frontend, d->domid, d->backend_domid) &&
	       put(d, t, d->frontend, VREAD_NODE_BACKEND, d->backend) &&
	       put_number(d, t, d->frontend, VREAD_NODE_BACKEND_ID, d->backend_domid) &&
	       put_number(d, t, d->frontend, VREAD_NODE_STATE, XenbusStateInitialising);
}

/* A limit that is not set has no node. */
static bool put_limit(struct xs_device *d, xs_transaction_t t, const char *node, unsigned limit)
{
	return !limit || put_number(d, t, d->backend, node, limit);
}

/* An empty list has no node. */
static bool put_list(struct xs_device *d, xs_transaction_t t, const char *node,
		     const char *datanodes)
{
	return !*datanodes || put(d, t, d->backend, node, datanodes);
}

static bool put_backend(struct xs_device *d, xs_transaction_t t,
			const struct xs_device_policy *policy)
{
	return make_directory(d, t, d->backend, d->backend_domid, d->domid) &&
	       put(d, t, d->backend, VREAD_NODE_FRONTEND, d->frontend) &&
	       put_number(d, t, d->backend, VREAD_NODE_FRONTEND_ID, d->domid) &&
	       put_number(d, t, d->backend, VREAD_NODE_ONLINE, 1) &&
	       put(d, t, d->backend, VREAD_NODE_ROLE, policy->role) &&
	       put(d, t, d->backend, VREAD_NODE_ALLOW_DATANODES, policy->allow_datanodes) &&
	       put(d, t, d->backend, VREAD_NODE_ALLOW_POOLS, policy->allow_pools) &&
	       put_list(d, t, VREAD_NODE_PUBLISH_DATANODES, policy->publish_datanodes) &&
	       put_list(d, t, VREAD_NODE_UNNAMED_DATANODES, policy->unnamed_datanodes) &&
	       put_limit(d, t, VREAD_NODE_LIMIT_QUEUES, policy->limit_queues) &&
	       put_limit(d, t, VREAD_NODE_LIMIT_POOL_PAGES, policy->limit_pool_pages) &&
	       put_number(d, t, d->backend, VREAD_NODE_STATE, XenbusStateInitialising);
}

/* ---- transactions ------------------------------------------------------------ */

typedef int transaction_fn(struct xs_device *d, xs_transaction_t t, const void *argument);

/* Runs fn in a transaction, and again if another transaction interferes.  0 or negative errno. */
static int transact(struct xs_device *d, transaction_fn *fn, const void *argument)
{
	for (;;) {
		xs_transaction_t t = xs_transaction_start(d->xs);
		int r;

		if (!t)
			return -errno;
		r = fn(d, t, argument);
		if (r) {
			xs_transaction_end(d->xs, t, true);
			return r;
		}
		if (xs_transaction_end(d->xs, t, false))
			return 0;
		if (errno != EAGAIN)
			return -errno;
	}
}

static int create(struct xs_device *d, xs_transaction_t t, const void *argument)
{
	char domain[64];

	snprintf(domain, sizeof(domain), "/local/domain/%u", d->domid);
	if (!node_exists(d, t, domain))
		return -ESRCH;
	if (node_exists(d, t, d->frontend) || node_exists(d, t, d->backend))
		return -EEXIST;
	return put_frontend(d, t) && put_backend(d, t, argument) ? 0 : -errno;
}

int xs_device_create(struct xs_device *d, const struct xs_device_policy *policy)
{
	return transact(d, create, policy);
}

/* absent: the value that an absent node stands for. */
static bool has_value(struct xs_device *d, const char *node, const char *value, const char *absent)
{
	char path[192], *found;
	unsigned length;
	bool same;

	snprintf(path, sizeof(path), "%s/%s", d->backend, node);
	found = xs_read(d->xs, XBT_NULL, path, &length);
	if (!found && errno != ENOENT)
		return false;
	same = strcmp(found ?: absent, value) == 0;
	free(found);
	return same;
}

static bool has_limit(struct xs_device *d, const char *node, unsigned limit)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", limit);
	return has_value(d, node, text, "0");
}

bool xs_device_has_policy(struct xs_device *d, const struct xs_device_policy *policy)
{
	return node_exists(d, XBT_NULL, d->backend) &&
	       has_value(d, VREAD_NODE_ROLE, policy->role, "client") &&
	       has_value(d, VREAD_NODE_ALLOW_DATANODES, policy->allow_datanodes, "") &&
	       has_value(d, VREAD_NODE_ALLOW_POOLS, policy->allow_pools, "*") &&
	       has_value(d, VREAD_NODE_PUBLISH_DATANODES, policy->publish_datanodes, "") &&
	       has_value(d, VREAD_NODE_UNNAMED_DATANODES, policy->unnamed_datanodes, "") &&
	       has_limit(d, VREAD_NODE_LIMIT_QUEUES, policy->limit_queues) &&
	       has_limit(d, VREAD_NODE_LIMIT_POOL_PAGES, policy->limit_pool_pages);
}

const char *xs_device_error(int r)
{
	static char text[160];
	const char *hint = "";

	if (r == -ENOSPC)
		hint = ": a quota of xenstored is used up (nodes, or transactions)";
	else if (r == -E2BIG)
		hint = ": a value is longer than xenstored's quota allows";
	else if (r == -EINVAL) /* libxenstore has no name for EQUOTA */
		hint = "; oxenstored: the domain's quota is used up";
	snprintf(text, sizeof(text), "%s%s", strerror(-r), hint);
	return text;
}

/* ---- keys ---------------------------------------------------------------------- */

/* Makes the node have this value; NULL: makes it not exist.  0, -EALREADY: it was so already, or
 * another negative errno. */
static int set_key(struct xs_device *d, xs_transaction_t t, const char *node, const char *value)
{
	char path[192], *old;
	unsigned length;
	bool same;

	snprintf(path, sizeof(path), "%s/%s", d->datanode, node);
	old = xs_read(d->xs, t, path, &length);
	same = old && value ? strcmp(old, value) == 0 : !old && !value;
	free(old);
	if (same)
		return -EALREADY;
	if (value ? put(d, t, d->datanode, node, value) : xs_rm(d->xs, t, path))
		return 0;
	return -errno;
}

/* Only the backend's domain may read the keys.  Nodes made below the directory inherit this. */
static bool make_datanode_directory(struct xs_device *d, xs_transaction_t t)
{
	struct xs_permissions own = {.id = d->backend_domid, .perms = XS_PERM_NONE};

	return node_exists(d, t, d->datanode) ||
	       (xs_mkdir(d->xs, t, d->datanode) &&
		xs_set_permissions(d->xs, t, d->datanode, &own, 1));
}

static int set_keys(struct xs_device *d, xs_transaction_t t, const void *argument)
{
	const struct xs_device_keys *k = argument;
	const char *const nodes[][2] = {
		{VREAD_NODE_DATA_DIRS, k->data_dirs},
		{VREAD_NODE_DISKS, k->disks},
		{VREAD_NODE_BACKING_FOLDERS, k->backing_folders},
		{VREAD_NODE_TOKENS, k->tokens},
		{VREAD_NODE_NAME, k->name},
	};
	int r = -EALREADY;

	if (!node_exists(d, t, d->backend))
		return -ENOENT;
	if (!make_datanode_directory(d, t))
		return -errno;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		int set = set_key(d, t, nodes[i][0], nodes[i][1]);

		if (set != -EALREADY)
			r = set;
		if (r && r != -EALREADY)
			return r;
	}
	return r;
}

int xs_device_provision(struct xs_device *d, const struct xs_device_keys *keys)
{
	return transact(d, set_keys, keys);
}

/* ---- the end ------------------------------------------------------------------- */

static int begin_close(struct xs_device *d, xs_transaction_t t, const void *argument)
{
	(void)argument;
	if (!node_exists(d, t, d->backend))
		return -ENOENT;
	if (!xs_rm(d->xs, t, d->datanode) && errno != ENOENT)
		return -errno;
	if (!put_number(d, t, d->backend, VREAD_NODE_ONLINE, 0) ||
	    !put_number(d, t, d->backend, VREAD_NODE_STATE, XenbusStateClosing))
		return -errno;
	return 0;
}

int xs_device_close(struct xs_device *d)
{
	return transact(d, begin_close, NULL);
}

/* Removes the parents of a device's directory that are empty, at most `levels` of them. */
static void remove_empty_parents(struct xs_device *d, xs_transaction_t t, const char *path,
				 int levels)
{
	char parent[96];

	snprintf(parent, sizeof(parent), "%s", path);
	while (levels-- > 0) {
		unsigned count = 0;
		char **children;

		*strrchr(parent, '/') = '\0';
		children = xs_directory(d->xs, t, parent, &count);
		free(children);
		if (!children || count)
			return;
		xs_rm(d->xs, t, parent);
	}
}

static int remove_both(struct xs_device *d, xs_transaction_t t, const void *argument)
{
	(void)argument;
	/* A directory may be gone already: with its domain, or removed by the backend. */
	if (!xs_rm(d->xs, t, d->backend) && errno != ENOENT)
		return -errno;
	if (!xs_rm(d->xs, t, d->frontend) && errno != ENOENT)
		return -errno;
	remove_empty_parents(d, t, d->backend, 2);
	remove_empty_parents(d, t, d->frontend, 1);
	return 0;
}

int xs_device_remove(struct xs_device *d)
{
	return transact(d, remove_both, NULL);
}

/* ---- states -------------------------------------------------------------------- */

unsigned xs_device_state(struct xs_device *d)
{
	unsigned long long state = 0;
	unsigned length;
	char path[128], *value;

	snprintf(path, sizeof(path), "%s/%s", d->backend, VREAD_NODE_STATE);
	value = xs_read(d->xs, XBT_NULL, path, &length);
	if (value && !cli_number(value, 1, 8, &state))
		state = XenbusStateUnknown;
	free(value);
	return (unsigned)state;
}

static void take_watch_event(struct xs_device *d)
{
	unsigned count;

	free(xs_read_watch(d->xs, &count));
}

/* Waits until reached(d, ctx) is true; it depends on the node `path`. */
static int wait_until(struct xs_device *d, const char *path, unsigned seconds,
		      bool (*reached)(struct xs_device *d, void *ctx), void *ctx)
{
	uint64_t deadline = clock_ms() + (uint64_t)seconds * 1000;
	struct pollfd fd = {.fd = xs_fileno(d->xs), .events = POLLIN};

	if (!xs_watch(d->xs, path, "node"))
		return -errno;
	for (;;) {
		if (reached(d, ctx))
			return 0;
		if (clock_ms() >= deadline)
			return -ETIME;
		if (clock_poll(&fd, 1, deadline) > 0)
			take_watch_event(d);
	}
}

static bool is_in_state(struct xs_device *d, void *ctx)
{
	const unsigned *wanted = ctx;

	return XS_STATE(xs_device_state(d)) & *wanted;
}

int xs_device_wait(struct xs_device *d, unsigned wanted, unsigned seconds)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", d->backend, VREAD_NODE_STATE);
	return wait_until(d, path, seconds, is_in_state, &wanted);
}

struct status {
	char path[128];
	char *text;
};

static bool has_status(struct xs_device *d, void *ctx)
{
	struct status *s = ctx;
	unsigned length;

	s->text = xs_read(d->xs, XBT_NULL, s->path, &length);
	return s->text;
}

int xs_device_wait_status(struct xs_device *d, unsigned seconds, char **ret)
{
	struct status s = {0};
	int r;

	snprintf(s.path, sizeof(s.path), "%s/%s", d->datanode, VREAD_NODE_STATUS);
	r = wait_until(d, s.path, seconds, has_status, &s);
	*ret = s.text;
	return r;
}
