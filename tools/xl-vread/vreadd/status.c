/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status.c - `xl-vread status`: prints what vreadd serves, to whom, and how much.  The operator
 * runs it in dom0. */
#include <getopt.h>
#include <stdio.h>

#include "../commands.h"
#include "control_client.h"
#include "status_text.h"

static int run_status(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct control_options o;
	json_t *status;
	int r = control_take_options(argc, argv, options, &o)
			?: control_ask_status(o.socket, &status);

	if (r)
		return r;
	if (o.json) {
		json_dumpf(status, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		status_print(stdout, status);
	}
	json_decref(status);
	return CLI_OK;
}

const struct command command_status = {
	.name = "status",
	.run = run_status,
	.synopsis = "[--json] [--socket PATH]",
	.summary = "Shows what vreadd serves, to whom, and how much",
	.options =
		"  --json          the status document as vreadd(8) describes it\n"
		"  --socket PATH   vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
