/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `vread status`: what vreadd serves, to whom, and how much of it. */
#include <getopt.h>
#include <stdio.h>

#include "cli.h"
#include "control_client.h"
#include "status_text.h"

static int run_status(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	const char *socket = CONTROL_DEFAULT_SOCKET;
	bool json = false;
	json_t *status;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 's')
			socket = optarg;
		else
			return cli_bad_option();
	}
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	r = control_ask_status(socket, &status);
	if (r)
		return r;
	if (json) {
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
