/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `vread xenstore check`: holds the live xenstore tree against the schema.
 *
 * Runs where the backend is (dom0): only there can every node be read.  One
 * line for each thing wrong; the exit code tells scripts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xenstore.h>

#include "check.h"
#include "cli.h"
#include "vread-nodes.h"

#define BACKEND_ROOT "/local/domain/%u/backend/" VREAD_DEVICE_TYPE
#define MAX_DOMID 32751

struct walk {
	struct xs_handle *xs;
	struct vread_schema_tree tree;
	unsigned devices, problems;
};

static char *read_node(void *ctx, const char *path)
{
	struct walk *w = ctx;
	unsigned length;

	return xs_read(w->xs, XBT_NULL, path, &length);
}

static char **list_nodes(void *ctx, const char *path, unsigned *ret_count)
{
	struct walk *w = ctx;

	return xs_directory(w->xs, XBT_NULL, path, ret_count);
}

/* The first entry names the owner, and what domains not listed may do. */
static int writable_by(void *ctx, const char *path, unsigned domid)
{
	struct walk *w = ctx;
	unsigned count;
	struct xs_permissions *perms = xs_get_permissions(w->xs, XBT_NULL, path, &count);
	unsigned allowed;

	if (!perms || !count) {
		free(perms);
		return -EIO;
	}
	allowed = perms[0].perms;
	for (unsigned i = 1; i < count; i++)
		if (perms[i].id == domid)
			allowed = perms[i].perms;
	if (perms[0].id == domid)
		allowed = XS_PERM_WRITE;
	free(perms);
	return allowed & XS_PERM_WRITE ? 1 : 0;
}

static void print_problem(void *ctx, const char *path, const char *text)
{
	(void)ctx;
	printf("%s: %s\n", path, text);
}

static void check_device(struct walk *w, const char *path)
{
	w->devices++;
	w->problems += vread_schema_check(&w->tree, path);
}

/* Every device below backend/vread/DOMID. */
static void check_domain(struct walk *w, const char *root, const char *domid)
{
	char path[128];
	unsigned count = 0;
	char **devices;

	snprintf(path, sizeof(path), "%s/%s", root, domid);
	devices = list_nodes(w, path, &count);
	for (unsigned i = 0; devices && i < count; i++) {
		char device[192];

		snprintf(device, sizeof(device), "%s/%s", path, devices[i]);
		check_device(w, device);
	}
	free(devices);
}

static void check_all(struct walk *w, const char *root)
{
	unsigned count = 0;
	char **domids = list_nodes(w, root, &count);

	for (unsigned i = 0; domids && i < count; i++)
		check_domain(w, root, domids[i]);
	free(domids);
}

/* The backend's own domid; a driver domain is not 0. */
static unsigned own_domid(struct walk *w)
{
	char *text = read_node(w, "domid");
	unsigned long long number = 0;

	if (text)
		cli_number(text, 0, MAX_DOMID, &number);
	free(text);
	return (unsigned)number;
}

static int check(struct walk *w, const char *domid)
{
	char root[64];

	snprintf(root, sizeof(root), BACKEND_ROOT, own_domid(w));
	if (domid)
		check_domain(w, root, domid);
	else
		check_all(w, root);
	if (domid && !w->devices)
		return cli_error(CLI_FAILED,
				 "%s/%s: no vread device; attach one with `vread attach`", root,
				 domid);
	printf("%u device%s, %u problem%s\n", w->devices, w->devices == 1 ? "" : "s", w->problems,
	       w->problems == 1 ? "" : "s");
	return w->problems ? CLI_FAILED : CLI_OK;
}

static int run_xenstore(int argc, char **argv)
{
	struct walk w = {0};
	unsigned long long domid;
	int r;

	if (argc < 2 || strcmp(argv[1], "check"))
		return cli_usage("expected: check [DOMID]");
	if (argc > 3)
		return cli_usage("%s: one DOMID at most", argv[3]);
	if (argc == 3 && !cli_number(argv[2], 0, MAX_DOMID, &domid))
		return cli_usage("%s: expected a domain id from 0 to %u", argv[2], MAX_DOMID);
	w.xs = xs_open(0);
	if (!w.xs)
		return cli_error(CLI_NO_PEER, "xenstore cannot be reached: %s; is this dom0?",
				 strerror(errno));
	w.tree = (struct vread_schema_tree){read_node, list_nodes, writable_by, print_problem, &w};
	r = check(&w, argv[2]);
	xs_close(w.xs);
	return r;
}

const struct command command_xenstore = {
	.name = "xenstore",
	.run = run_xenstore,
	.synopsis = "check [DOMID]",
	.summary = "Checks xenstore nodes of devices against the schema",
	.options = "",
};
