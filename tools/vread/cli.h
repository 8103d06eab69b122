/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - what the commands of vread(1) share.
 *
 * Each command is one file with one entry point; main.c holds their table.
 * Errors go to stderr as "vread COMMAND: object: what is wrong and what to do".
 */
#ifndef VREAD_CLI_H
#define VREAD_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes, as vread(1) promises them. */
enum {
	CLI_OK = 0,
	CLI_FAILED = 1,  /* what was asked for could not be done */
	CLI_USAGE = 2,   /* the command line is wrong */
	CLI_NO_PEER = 3, /* no vreadd, no device, or no xenstore to talk to */
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
	const char *synopsis;              /* behind the name */
	const char *summary;
	const char *options; /* one per line, for `vread help COMMAND` */
};

extern const struct command command_status, command_inspect, command_blocks, command_stat,
	command_cat, command_publish, command_attach, command_detach, command_xenstore,
	command_version, command_help;
extern const struct command *const commands[]; /* NULL-terminated */

const struct command *find_command(const char *name);
void print_help(const struct command *c);

/* Prints "vread COMMAND: ..." with a newline; returns code for `return cli_error(...)`. */
__attribute__((format(printf, 2, 3))) int cli_error(int code, const char *format, ...);
/* The same for a wrong command line, with a hint to the help; returns CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);
/* What getopt_long() already complained about. */
int cli_bad_option(void);

/* Strict decimal in min .. max; false if malformed or outside. */
bool cli_number(const char *text, unsigned long long min, unsigned long long max,
		unsigned long long *ret);

#endif
