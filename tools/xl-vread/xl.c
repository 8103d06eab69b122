/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl.c - implements xl.h.  Called by the commands of xl-vread(8). */
#include "xl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "run.h"

/* Returns xl's exit code, or negative errno if xl could not be run or was killed. */
static int run_xl(const char *const *argv)
{
	size_t count = 0;
	const char **whole;
	int r;

	while (argv[count])
		count++;
	whole = calloc(count + 2, sizeof(*whole));
	if (!whole)
		return -ENOMEM;
	whole[0] = "xl";
	memcpy(whole + 1, argv, count * sizeof(*argv));
	r = run_program(whole);
	free(whole);
	return r;
}

int xl_command(const char *const *argv, const char *what)
{
	int r = run_xl(argv);

	if (r < 0)
		return cli_error(CLI_FAILED, "xl: cannot run: %s", strerror(-r));
	return r ? cli_error(CLI_FAILED, "%s failed: exit code %d", what, r) : CLI_OK;
}

int xl_domain(const char *verb, unsigned domid)
{
	char text[16], what[32];
	const char *words[] = {verb, text, NULL};

	snprintf(text, sizeof(text), "%u", domid);
	snprintf(what, sizeof(what), "xl %s", verb);
	return xl_command(words, what);
}
