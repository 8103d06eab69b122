/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xl_lines.c - implements xl_lines.h.  Called by cpupools.c, turbo.c and turbo_state.c. */
#include "xl_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "xl.h"

#define BLANKS " \t\n"

static void trim(char *line)
{
	size_t length = strlen(line);

	while (length && strchr(BLANKS, line[length - 1]))
		line[--length] = '\0';
}

static int take_all(const char *command, FILE *from, unsigned heading, xl_take take, void *data)
{
	char *line = NULL;
	size_t size = 0;
	int r = CLI_OK;

	while (getline(&line, &size, from) > 0) {
		char *seen;

		trim(line);
		if (heading) {
			heading--;
			continue;
		}
		seen = strdup(line);
		/* After an error the rest is still read, or SIGPIPE would kill xl. */
		if (!r && *line && !take(line, data))
			r = cli_error(CLI_FAILED, "%s: cannot understand '%s'", command,
				      seen ?: "");
		free(seen);
	}
	free(line);
	return r;
}

int xl_lines(const char *command, unsigned heading, xl_take take, void *data)
{
	FILE *from = popen(command, "re");
	int r, status;

	if (!from)
		return cli_error(CLI_FAILED, "%s: cannot run: %m", command);
	r = take_all(command, from, heading, take, data);
	status = pclose(from);
	if (status)
		return cli_error(CLI_FAILED, "%s: failed: exit code %d", command,
				 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return r;
}

int xl_must(const char *const *argv)
{
	int r = xl_run(argv);

	if (r < 0)
		return cli_error(CLI_FAILED, "xl: cannot run: %s", strerror(-r));
	return r ? cli_error(CLI_FAILED, "xl %s failed: exit code %d", argv[0], r) : CLI_OK;
}

char *xl_last_word(char *line)
{
	char *word;

	trim(line);
	word = line + strlen(line);
	while (word > line && !strchr(BLANKS, word[-1]))
		word--;
	if (word > line)
		word[-1] = '\0';
	else
		word = NULL; /* the first word names the object of the line and is not cut off */
	trim(line);
	return word;
}

bool xl_last_number(char *line, unsigned max, unsigned *ret)
{
	const char *word = xl_last_word(line);
	unsigned long long number;

	if (!word || !cli_number(word, 0, max, &number))
		return false;
	*ret = (unsigned)number;
	return true;
}
