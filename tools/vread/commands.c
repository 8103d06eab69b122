/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.c - vread(1): the table of its commands, and the option in front of a command.
 * cli/main.c runs the program by it. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {
	&command_stat, &command_cat, &command_publish, &command_doctor, &command_version,
	&command_help, NULL,
};

/* Makes "vread --endpoint PATH COMMAND" mean "vread COMMAND --endpoint PATH".  Returns how many
 * arguments the option took, or -1. */
static int take_endpoint(int argc, char **argv)
{
	static const char option[] = "--endpoint";
	size_t n = sizeof(option) - 1;

	if (argc < 2 || strncmp(argv[1], option, n))
		return 0;
	if (argv[1][n] == '=')
		return setenv("VREAD_ENDPOINT", argv[1] + n + 1, 1) ? -1 : 1;
	if (argv[1][n] || argc < 3)
		return -1;
	return setenv("VREAD_ENDPOINT", argv[2], 1) ? -1 : 2;
}

const struct program program = {
	.name = "vread",
	.summary = "Reads HDFS blocks through the host.  xl-vread is the command for dom0.",
	.manual = "vread(1)",
	.elsewhere = "xl-vread has the commands for dom0",
	.commands = commands,
	.take_options = take_endpoint,
	.wrong_option = "--endpoint PATH",
};
