/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - the commands `help` and `version` of vread(1) and xl-vread(8).  main.c also calls
 * print_help(). */
#include <getopt.h>
#include <stdio.h>

#include "base/version.h"
#include "cli/cli.h"

static void print_command(const struct command *c)
{
	printf("usage: %s %s%s%s\n\n%s.\n", program.name, c->name, *c->synopsis ? " " : "",
	       c->synopsis, c->summary);
	if (*c->options)
		printf("\n%s", c->options);
}

void print_help(const struct command *c)
{
	if (c) {
		print_command(c);
		return;
	}
	printf("usage: %s COMMAND [ARGUMENT...]\n\n%s\n\n", program.name, program.summary);
	for (const struct command *const *p = program.commands; *p; p++)
		printf("  %-9s %s\n", (*p)->name, (*p)->summary);
	printf("\n'%s help COMMAND' explains a command; see also %s.\n", program.name,
	       program.manual);
}

static int run_help(int argc, char **argv)
{
	const struct command *c;

	if (argc > 2)
		return cli_usage("%s: unexpected argument", argv[2]);
	if (argc < 2) {
		print_help(NULL);
		return CLI_OK;
	}
	c = find_command(argv[1]);
	if (!c)
		return cli_usage("%s: no such command; %s", argv[1], program.elsewhere);
	print_help(c);
	return CLI_OK;
}

static int run_version(int argc, char **argv)
{
	if (argc > 1)
		return cli_usage("%s: unexpected argument", argv[1]);
	printf("%s " VREAD_VERSION "\n", program.name);
	return CLI_OK;
}

const struct command command_help = {
	.name = "help",
	.run = run_help,
	.synopsis = "[COMMAND]",
	.summary = "Explains a command, or lists all commands",
	.options = "",
};

const struct command command_version = {
	.name = "version",
	.run = run_version,
	.synopsis = "",
	.summary = "Prints the version",
	.options = "",
};
