/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - main() of vread(1) and xl-vread(8): finds the command and runs it.  Also implements the
 * errors and numbers of cli.h, which the commands call. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *running = "";

const struct command *find_command(const char *name)
{
	for (const struct command *const *c = program.commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static void complain(const char *format, va_list ap)
{
	fprintf(stderr, "%s%s%s: ", program.name, *running ? " " : "", running);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
}

int cli_error(int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	complain(format, ap);
	va_end(ap);
	return code;
}

int cli_bad_option(void)
{
	fprintf(stderr, "Try '%s help%s%s'.\n", program.name, *running ? " " : "", running);
	return CLI_USAGE;
}

int cli_usage(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	complain(format, ap);
	va_end(ap);
	return cli_bad_option();
}

bool cli_number(const char *text, unsigned long long min, unsigned long long max,
		unsigned long long *ret)
{
	unsigned long long n = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (unsigned)(*text - '0'), &n))
			return false;
	}
	if (n < min || n > max)
		return false;
	*ret = n;
	return true;
}

int cli_take_number(const char *what, const char *text, unsigned max, unsigned *ret)
{
	unsigned long long number;

	if (!cli_number(text, 0, max, &number))
		return cli_usage("%s %s: expected a number from 0 to %u", what, text, max);
	*ret = (unsigned)number;
	return CLI_OK;
}

/* Options that people try before they know the commands. */
static const char *alias(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return "help";
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		return "version";
	return name;
}

/* getopt_long() begins its errors with argv[0], so argv[0] becomes "PROGRAM COMMAND". */
static int run(const struct command *c, int argc, char **argv)
{
	static char name[64];
	int r;

	running = c->name;
	snprintf(name, sizeof(name), "%s %s", program.name, c->name);
	argv[0] = name;
	r = c->run(argc, argv);
	if (fflush(stdout) || ferror(stdout))
		return cli_error(r ?: CLI_FAILED, "standard output: cannot write: %m");
	return r;
}

int main(int argc, char **argv)
{
	const struct command *c;
	int taken = program.take_options ? program.take_options(argc, argv) : 0;

	if (taken < 0)
		return cli_usage("%s: expected %s", argv[1], program.wrong_option);
	argc -= taken;
	argv += taken;
	if (argc < 2) {
		print_help(NULL);
		return CLI_USAGE;
	}
	c = find_command(alias(argv[1]));
	if (!c)
		return cli_usage("%s: no such command; %s", argv[1], program.elsewhere);
	return run(c, argc - 1, argv + 1);
}
