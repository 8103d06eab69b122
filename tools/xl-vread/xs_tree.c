// SPDX-License-Identifier: GPL-2.0-or-later
/* xs_tree.c - implements xs_tree.h: walks backend directories, and gives the schema's checker
 * (xenstore-schema/check.h) access to a live tree. */
#include "xs_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "cli/cli.h"
#include "domains.h"
#include "vread-nodes.h"

#define LOOKS 3
#define BETWEEN_LOOKS 500000 /* us */

struct look {
	struct xs_handle *xs;
	xs_transaction_t transaction; /* while a device is checked */
	json_t *problems;
	bool passing; /* a problem may exist for a moment only */
};

/* ---- what the schema's checker sees ------------------------------------------------------- */

static char *read_node(void *ctx, const char *path)
{
	const struct look *l = ctx;
	unsigned length;

	return xs_read(l->xs, l->transaction, path, &length);
}

static char **list_nodes(void *ctx, const char *path, unsigned *ret_count)
{
	const struct look *l = ctx;

	return xs_directory(l->xs, l->transaction, path, ret_count);
}

static struct vread_permission *get_permissions(void *ctx, const char *path, unsigned *ret_count)
{
	const struct look *l = ctx;
	struct xs_permissions *has = xs_get_permissions(l->xs, l->transaction, path, ret_count);
	struct vread_permission *ret = has && *ret_count ? calloc(*ret_count, sizeof(*ret)) : NULL;

	for (unsigned i = 0; ret && i < *ret_count; i++)
		ret[i] = (struct vread_permission){has[i].id, has[i].perms & XS_PERM_READ,
						   has[i].perms & XS_PERM_WRITE};
	free(has);
	return ret;
}

static void begin(void *ctx)
{
	struct look *l = ctx;

	l->transaction = xs_transaction_start(l->xs);
}

/* Aborts the transaction: nothing was written. */
static void end(void *ctx)
{
	struct look *l = ctx;

	if (l->transaction != XBT_NULL)
		xs_transaction_end(l->xs, l->transaction, true);
	l->transaction = XBT_NULL;
}

static void note(void *ctx, const struct vread_problem *p)
{
	struct look *l = ctx;

	l->passing |= p->passing;
	json_array_append_new(l->problems,
			      json_pack("{s:s, s:s?, s:s, s:s, s:s}", "path", p->path, "device",
					*p->device ? p->device : NULL, "found", p->found,
					"expected", p->expected, "remedy", p->remedy));
}

json_t *xs_check(struct xs_handle *xs, unsigned domid, unsigned *ret_devices)
{
	struct look l = {.xs = xs};
	const struct vread_schema_tree tree = {read_node, list_nodes, get_permissions, begin, end,
					       note,      &l};

	for (int n = 1;; n++) {
		l.passing = false;
		l.problems = json_array();
		vread_schema_check(&tree, xs_own_domid(xs), domid, ret_devices);
		if (!l.passing || n == LOOKS)
			return l.problems;
		json_decref(l.problems);
		usleep(BETWEEN_LOOKS);
	}
}

/* ---- devices --------------------------------------------------------------------------------- */

unsigned xs_own_domid(struct xs_handle *xs)
{
	unsigned length;
	char *text = xs_read(xs, XBT_NULL, "domid", &length);
	unsigned long long number = 0;

	if (text)
		cli_number(text, 0, MAX_DOMID, &number);
	free(text);
	return (unsigned)number;
}

/* Calls fn for each device below root/DOMID.  Returns how many devices there are. */
static unsigned each_of_domain(struct xs_handle *xs, const char *root, const char *domid,
			       xs_device_fn *fn, void *ctx)
{
	char path[128];
	unsigned count = 0;
	char **devices;

	snprintf(path, sizeof(path), "%s/%s", root, domid);
	devices = xs_directory(xs, XBT_NULL, path, &count);
	for (unsigned i = 0; devices && i < count; i++) {
		char device[192];

		snprintf(device, sizeof(device), "%s/%s", path, devices[i]);
		fn(ctx, device);
	}
	free(devices);
	return count;
}

unsigned xs_each_device(struct xs_handle *xs, xs_device_fn *fn, void *ctx)
{
	unsigned count = 0, devices = 0;
	char root[64], **domids;

	snprintf(root, sizeof(root), "/local/domain/%u/backend/" VREAD_DEVICE_TYPE,
		 xs_own_domid(xs));
	domids = xs_directory(xs, XBT_NULL, root, &count);
	for (unsigned i = 0; domids && i < count; i++)
		devices += each_of_domain(xs, root, domids[i], fn, ctx);
	free(domids);
	return devices;
}
