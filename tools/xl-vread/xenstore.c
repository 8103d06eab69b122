/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenstore.c - `xl-vread xenstore check`: compares the live xenstore tree with the schema.  The
 * operator runs it in the backend's domain (dom0): only there can every node be read.
 *
 * Each problem is two lines; the second line says what to do.  The exit code is for scripts.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "domains.h"
#include "cli/text.h"
#include "kvm.h"
#include "vread-nodes.h"
#include "xs_tree.h"

static void print(const json_t *problems, unsigned devices)
{
	size_t count = json_array_size(problems), i;
	json_t *p;

	json_array_foreach(problems, i, p)
	{
		printf("%s: %s, expected %s\n    %s\n", text_member(p, "path"),
		       text_member(p, "found"), text_member(p, "expected"),
		       text_member(p, "remedy"));
	}
	printf("%u device%s, %zu problem%s\n", devices, devices == 1 ? "" : "s", count,
	       count == 1 ? "" : "s");
}

static void print_json(json_t *problems, unsigned devices)
{
	json_t *all = json_pack("{s:i, s:b, s:O}", "devices", (int)devices, "ok",
				!json_array_size(problems), "problems", problems);

	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

static int check(struct xs_handle *xs, unsigned domid, bool json)
{
	unsigned devices;
	json_t *problems = xs_check(xs, domid, &devices);
	bool found = json_array_size(problems);

	if (!problems)
		return cli_error(CLI_FAILED, "out of memory");
	if (json)
		print_json(problems, devices);
	else if (found || devices || domid == XS_ANY_DOMID)
		print(problems, devices);
	json_decref(problems);
	if (domid != XS_ANY_DOMID && !devices && !found)
		return cli_error(CLI_FAILED,
				 "/local/domain/%u/backend/" VREAD_DEVICE_TYPE
				 "/%u: no vread device; attach one with `xl-vread attach`",
				 xs_own_domid(xs), domid);
	return found ? CLI_FAILED : CLI_OK;
}

static int run_xenstore(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	unsigned domid = XS_ANY_DOMID;
	struct xs_handle *xs;
	bool json = false;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'j')
			return cli_bad_option();
		json = true;
	}
	if (optind == argc || strcmp(argv[optind], "check"))
		return cli_usage("expected: check [DOMID]");
	if (argc - optind > 2)
		return cli_usage("%s: one DOMID at most", argv[optind + 2]);
	if (argc - optind == 2 && cli_take_number("domain id", argv[optind + 1], MAX_DOMID, &domid))
		return CLI_USAGE;
	xs = xs_open(0);
	if (!xs)
		return kvm_no_xenstore(errno);
	r = check(xs, domid, json);
	xs_close(xs);
	return r;
}

const struct command command_xenstore = {
	.name = "xenstore",
	.run = run_xenstore,
	.synopsis = "check [--json] [DOMID]",
	.summary = "Checks xenstore nodes of devices against the schema",
	.options = "  --json   an object: devices, ok and problems\n",
};
