/* SPDX-License-Identifier: GPL-2.0-or-later */
/* paused.c - reads the options --paused and --wait, for create.c and restore.c. */
#include <getopt.h>
#include <stdbool.h>

#include "commands.h"

int take_paused_and_wait(int argc, char **argv, bool *paused, unsigned *wait)
{
	static const struct option options[] = {
		{"paused", no_argument, NULL, 'p'},
		{"wait", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "+p", options, NULL)) != -1) {
		if (c == 'p')
			*paused = true;
		else
			r = c == 'w' ? cli_take_number("--wait", optarg, MAX_WAIT, wait)
				     : cli_bad_option();
	}
	return r;
}
