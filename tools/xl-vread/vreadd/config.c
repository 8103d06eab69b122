/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.c - `xl-vread config check`: reports mistakes in a configuration before vreadd loads it.
 * The operator runs it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "../by_keys.h"
#include "../commands.h"
#include "../config_path.h"
#include "control/config.h"
#include "control/config_warn.h"

struct findings {
	json_t *errors, *warnings;
};

static void find(const char *path, struct findings *ret)
{
	struct config *config;
	struct keys_list keys;

	*ret = (struct findings){.warnings = json_array()};
	if (config_load(path, &config, &ret->errors))
		return;
	ret->errors = json_array();
	json_decref(ret->warnings);
	by_keys_try(config, &keys);
	ret->warnings = config_warnings(config, path, &keys);
	keys_free(&keys);
	config_free(config);
}

static void print_count(size_t n, const char *what)
{
	printf("%zu %s%s", n, what, n == 1 ? "" : "s");
}

static void print(const char *path, const struct findings *f)
{
	size_t errors = json_array_size(f->errors), warnings = json_array_size(f->warnings), i;
	json_t *problem;

	json_array_foreach(f->errors, i, problem) config_problem_print(stdout, problem, "error: ");
	json_array_foreach(f->warnings, i, problem)
		config_problem_print(stdout, problem, "warning: ");
	printf("%s: ", path);
	if (!errors && !warnings)
		fputs("ok", stdout);
	if (errors)
		print_count(errors, "error");
	if (warnings)
		print_count(warnings, "warning");
	putchar('\n');
}

static void print_json(const char *path, const struct findings *f)
{
	json_t *all =
		json_pack("{s:s, s:b, s:O, s:O}", "file", path, "ok", !json_array_size(f->errors),
			  "errors", f->errors, "warnings", f->warnings);

	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

static int check(const char *path, bool json)
{
	struct findings f;
	int r;

	find(path, &f);
	if (!f.errors || !f.warnings)
		return cli_error(CLI_FAILED, "out of memory");
	if (json)
		print_json(path, &f);
	else
		print(path, &f);
	r = json_array_size(f.errors) ? CLI_FAILED : CLI_OK;
	json_decref(f.errors);
	json_decref(f.warnings);
	return r;
}

static int run_config(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'j')
			return cli_bad_option();
		json = true;
	}
	if (optind == argc || strcmp(argv[optind], "check"))
		return cli_usage("expected: check [FILE]");
	if (argc - optind > 2)
		return cli_usage("%s: one FILE at most", argv[optind + 2]);
	return check(optind + 1 < argc ? argv[optind + 1] : config_path(), json);
}

const struct command command_config = {
	.name = "config",
	.run = run_config,
	.synopsis = "check [--json] [FILE]",
	.summary = "Checks a configuration of vreadd",
	.options = "  --json   an object: file, ok, errors and warnings\n"
		   "\n"
		   "FILE is $VREAD_CONFIG by default, else " CONFIG_DEFAULT_PATH ".\n",
};
