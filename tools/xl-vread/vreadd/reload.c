/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.c - `xl-vread reload`: makes vreadd read its configuration again, and prints what changed.
 * The operator runs it in dom0. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "../commands.h"
#include "control/config.h"
#include "control_client.h"

static void print_texts(const char *what, const json_t *texts)
{
	const json_t *text;
	size_t i;

	json_array_foreach(texts, i, text) printf("%s%s\n", what, json_string_value(text));
}

static int tell_refused(const json_t *answer)
{
	const json_t *problem;
	size_t i;

	json_array_foreach(json_object_get(answer, "problems"), i, problem)
		config_problem_print(stdout, problem, "error: ");
	fflush(stdout);
	return cli_error(
		CLI_FAILED,
		"refused: vreadd keeps its old configuration; see `xl-vread config check`");
}

static int exit_code(const json_t *answer)
{
	const char *result = json_string_value(json_object_get(answer, "result"));

	if (!result || strcmp(result, "applied"))
		return CLI_FAILED;
	return json_array_size(json_object_get(answer, "failed")) ||
			       json_array_size(json_object_get(answer, "restart"))
		       ? CLI_PARTLY
		       : CLI_OK;
}

static int tell(const json_t *answer)
{
	const char *result = json_string_value(json_object_get(answer, "result"));
	const json_t *changes = json_object_get(answer, "changes");
	int r = exit_code(answer);

	if (!result)
		return cli_error(CLI_FAILED, "the answer names no result");
	if (r == CLI_FAILED)
		return tell_refused(answer);
	print_texts("", changes);
	print_texts("failed: ", json_object_get(answer, "failed"));
	print_texts("needs a restart: ", json_object_get(answer, "restart"));
	if (r == CLI_OK && !json_array_size(changes))
		puts("nothing to change");
	fflush(stdout);
	if (r == CLI_PARTLY)
		cli_error(r, "a part of the configuration is not in use: see the lines that begin "
			     "with \"failed\" or \"needs a restart\"");
	return r;
}

static int reload(const char *socket, bool json)
{
	json_t *answer;
	int r = control_ask(socket, json_pack("{s:s}", "command", "reload"), &answer);

	if (r)
		return r;
	if (json) {
		json_dumpf(answer, stdout, JSON_INDENT(2));
		putchar('\n');
		r = exit_code(answer);
	} else {
		r = tell(answer);
	}
	json_decref(answer);
	return r;
}

static int run_reload(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct control_options o;

	return control_take_options(argc, argv, options, &o) ?: reload(o.socket, o.json);
}

const struct command command_reload = {
	.name = "reload",
	.run = run_reload,
	.synopsis = "[--json] [--socket PATH]",
	.summary = "Makes vreadd read its configuration again",
	.options =
		"  --json          the answer as vreadd(8) describes it\n"
		"  --socket PATH   vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
