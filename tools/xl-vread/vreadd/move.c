// SPDX-License-Identifier: GPL-2.0-or-later
/* move.c - `xl-vread datanode`: tells vreadd which other host has a storage from now on, or which
 * datanode of this host.  The operator or a script runs it in dom0. */
#include <getopt.h>
#include <string.h>

#include "../commands.h"
#include "control_client.h"

/* request: taken over; NULL: an argument is not in UTF-8. */
static int tell(const char *socket, json_t *request, char **argv)
{
	json_t *answer;
	int r;

	if (!request)
		return cli_usage("%s, %s: expected text in UTF-8", argv[1], argv[2]);
	r = control_ask(socket, request, &answer);
	if (r)
		return r;
	json_decref(answer);
	return CLI_OK;
}

/* argv: "move", a storage, a host. */
static int move(const char *socket, char **argv)
{
	return tell(socket,
		    json_pack("{s:s, s:s, s:s?}", "command", "move", "storage", argv[1], "host",
			      strcmp(argv[2], "-") ? argv[2] : NULL),
		    argv);
}

/* argv: "give", a storage, a datanode. */
static int give(const char *socket, char **argv)
{
	return tell(socket,
		    json_pack("{s:s, s:s, s:s}", "command", "give", "storage", argv[1], "datanode",
			      argv[2]),
		    argv);
}

static int run_datanode(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	const char *socket = CONTROL_DEFAULT_SOCKET, *what;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 's')
			return cli_bad_option();
		socket = optarg;
	}
	what = optind < argc ? argv[optind] : "";
	if (strcmp(what, "move") && strcmp(what, "give"))
		return cli_usage("expected: move STORAGE HOST, or give STORAGE DATANODE");
	if (argc - optind != 3)
		return strcmp(what, "give")
			       ? cli_usage("move: expected a storage's id and a host's name, or - "
					   "for none")
			       : cli_usage("give: expected a storage's id and a datanode's name");
	return strcmp(what, "give") ? move(socket, argv + optind) : give(socket, argv + optind);
}

const struct command command_datanode = {
	.name = "datanode",
	.run = run_datanode,
	.synopsis = "[--socket PATH] move STORAGE HOST|give STORAGE DATANODE",
	.summary = "Sets which host, or which datanode of this host, has a storage",
	.options =
		"  move            the storage is on another host\n"
		"  give            the storage belongs to a datanode of this host\n"
		"  STORAGE         its id; for move DATANODE/ID if vreadd does not know whose\n"
		"                  it is\n"
		"  HOST            name of a [peer NAME] of vread.conf(5); -: on no other host\n"
		"  DATANODE        name of a datanode of this host\n"
		"  --socket PATH   vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
