/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c - `vread attach` and `vread detach`: the toolstack's part for vread devices, which libxl
 * does not know.  The operator runs them in dom0.
 */
#include <getopt.h>
#include <string.h>

#include "commands.h"
#include "policy/policy.h"
#include "toolstack/attach.h"
#include "toolstack/device.h"
#include "toolstack/limits.h"

#define MAX_DOMID 32751 /* DOMID_FIRST_RESERVED - 1 */
#define MAX_DEVICE 255
#define MAX_WAIT 86400
#define MAX_LIST 2048 /* characters; a xenstore value may be that long */

struct options {
	unsigned domid, id, wait;
	bool force;
	struct xs_device_policy policy;
};

enum {
	OPTION_ID = 1000,
	OPTION_ROLE,
	OPTION_DATANODES,
	OPTION_POOLS,
	OPTION_QUEUES,
	OPTION_POOL_SIZE,
	OPTION_WAIT,
	OPTION_FORCE,
};

/* Returns the exit code for the result of a parser of limits.h, after printing an error. */
static int taken(const char *option, const char *value, const char *expected)
{
	return expected ? cli_usage("%s %s: expected %s", option, value, expected) : CLI_OK;
}

/* Refuses lists that vreadd would refuse, so that the operator sees the error. */
static int check_lists(const struct xs_device_policy *p)
{
	const char *error;
	struct policy *policy;

	if (strlen(p->allow_datanodes) > MAX_LIST || strlen(p->allow_pools) > MAX_LIST)
		return cli_usage("a list may have %d characters", MAX_LIST);
	policy = policy_new(POLICY_CLIENT, p->allow_datanodes, p->allow_pools, &error);
	if (!policy)
		return cli_usage("--allow-datanodes '%s', --allow-pools '%s': %s",
				 p->allow_datanodes, p->allow_pools, error);
	policy_free(policy);
	return CLI_OK;
}

static int take_option(struct options *o, int option, const char *value)
{
	switch (option) {
	case OPTION_ID:
		return cli_take_number("--id", value, MAX_DEVICE, &o->id);
	case OPTION_WAIT:
		return cli_take_number("--wait", value, MAX_WAIT, &o->wait);
	case OPTION_ROLE:
		if (strcmp(value, "client") && strcmp(value, "datanode"))
			return cli_usage("--role %s: expected client or datanode", value);
		o->policy.role = value;
		return CLI_OK;
	case OPTION_DATANODES:
		o->policy.allow_datanodes = value;
		return CLI_OK;
	case OPTION_POOLS:
		o->policy.allow_pools = value;
		return CLI_OK;
	case OPTION_QUEUES:
		return taken("--queues", value,
			     limits_parse_queues(value, &o->policy.limit_queues));
	case OPTION_POOL_SIZE:
		return taken("--pool-size", value,
			     limits_parse_pool_size(value, &o->policy.limit_pool_pages));
	case OPTION_FORCE:
		o->force = true;
		return CLI_OK;
	default:
		return cli_bad_option();
	}
}

static int parse(struct options *o, const struct option *options, int argc, char **argv)
{
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = take_option(o, c, optarg);
	if (r)
		return r;
	if (argc - optind != 1)
		return cli_usage("expected one domain id, not %d arguments", argc - optind);
	return cli_take_number("domain id", argv[optind], MAX_DOMID, &o->domid);
}

/* ---- commands ------------------------------------------------------------------ */

static int run_attach(int argc, char **argv)
{
	static const struct option options[] = {
		{"id", required_argument, NULL, OPTION_ID},
		{"role", required_argument, NULL, OPTION_ROLE},
		{"allow-datanodes", required_argument, NULL, OPTION_DATANODES},
		{"allow-pools", required_argument, NULL, OPTION_POOLS},
		{"queues", required_argument, NULL, OPTION_QUEUES},
		{"pool-size", required_argument, NULL, OPTION_POOL_SIZE},
		{"wait", required_argument, NULL, OPTION_WAIT},
		{NULL, 0, NULL, 0},
	};
	struct options o = {
		.policy = {.role = "client", .allow_datanodes = "", .allow_pools = "*"}};
	struct xs_device d;
	int r = parse(&o, options, argc, argv) ?: check_lists(&o.policy);

	r = r ?: xs_device_init(&d, o.domid, o.id);
	if (r)
		return r;
	r = device_attach(&d, &o.policy) ?: device_await(&d, o.wait);
	xs_device_done(&d);
	return r;
}

static int run_detach(int argc, char **argv)
{
	static const struct option options[] = {
		{"id", required_argument, NULL, OPTION_ID},
		{"wait", required_argument, NULL, OPTION_WAIT},
		{"force", no_argument, NULL, OPTION_FORCE},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.wait = 10};
	struct xs_device d;
	int r = parse(&o, options, argc, argv) ?: xs_device_init(&d, o.domid, o.id);

	if (r)
		return r;
	r = device_detach(&d, o.wait, o.force);
	xs_device_done(&d);
	return r;
}

const struct command command_attach = {
	.name = "attach",
	.run = run_attach,
	.synopsis = "DOMID [OPTION...]",
	.summary = "Gives a guest a vread device (in dom0)",
	.options = "  --id N                   number of the device (default 0)\n"
		   "  --role ROLE              client (default), or datanode: may publish, too\n"
		   "  --allow-datanodes LIST   names out of vread.conf(5), separated by one\n"
		   "                           space, or '*'; default: none\n"
		   "  --allow-pools LIST       block pool ids, likewise; default: '*'\n"
		   "  --queues N               at most so many, 1 to 8; default: no limit\n"
		   "  --pool-size SIZE         memory it shares at most, 64K to 128M; likewise\n"
		   "  --wait SECONDS           until it is connected (default: do not wait)\n",
};

const struct command command_detach = {
	.name = "detach",
	.run = run_detach,
	.synopsis = "DOMID [OPTION...]",
	.summary = "Takes a vread device from a guest (in dom0)",
	.options = "  --id N           number of the device (default 0)\n"
		   "  --wait SECONDS   how long to wait until it is closed (default 10)\n"
		   "  --force          remove it even if it did not close\n",
};
