// SPDX-License-Identifier: GPL-2.0-or-later
/* move.c - `xl-vread datanode move`: tells vreadd which other host has a storage from now on.
 * The operator or a script runs it in dom0. */
#include <getopt.h>
#include <string.h>

#include "../commands.h"
#include "control_client.h"

static int move(const char *socket, const char *storage, const char *host)
{
	json_t *answer, *request;
	int r;

	request = json_pack("{s:s, s:s, s:s?}", "command", "move", "storage", storage, "host",
			    strcmp(host, "-") ? host : NULL);
	if (!request)
		return cli_usage("%s, %s: expected text in UTF-8", storage, host);
	r = control_ask(socket, request, &answer);
	if (r)
		return r;
	json_decref(answer);
	return CLI_OK;
}

static int run_datanode(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	const char *socket = CONTROL_DEFAULT_SOCKET;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 's')
			return cli_bad_option();
		socket = optarg;
	}
	if (optind == argc || strcmp(argv[optind], "move"))
		return cli_usage("expected: move STORAGE HOST");
	if (argc - optind != 3)
		return cli_usage("move: expected a storage's id and a host's name, or - for none");
	return move(socket, argv[optind + 1], argv[optind + 2]);
}

const struct command command_datanode = {
	.name = "datanode",
	.run = run_datanode,
	.synopsis = "[--socket PATH] move STORAGE HOST",
	.summary = "Sets which other host has a datanode's storage",
	.options =
		"  STORAGE         its id, or DATANODE/ID if vreadd does not know whose it is\n"
		"  HOST            name of a [peer NAME] of vread.conf(5); -: on no other host\n"
		"  --socket PATH   vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
