/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - what the programs of many commands, vread(1) and xl-vread(8), share.
 *
 * Each command is one file with one entry point; the program's commands.c holds their table.
 * Errors go to stderr as "vread COMMAND: object: what is wrong and what to do".
 */
#ifndef VREAD_CLI_H
#define VREAD_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes, as vread(1) and xl-vread(8) promise them. */
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

/* Every program has one of these. */
struct program {
	const char *name;
	const char *summary;                   /* a sentence, for the list of its commands */
	const char *manual;                    /* "vread(1)" */
	const struct command *const *commands; /* NULL-terminated */
	/* Takes options in front of the command: how many arguments they were, or -1 if one is wrong.
	 * NULL: there are none. */
	int (*take_options)(int argc, char **argv);
	const char *wrong_option; /* what is said then: what was expected */
};

extern const struct program program;
extern const struct command command_version, command_help; /* of every program */

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
/* Of an option or argument, 0 .. max: CLI_OK, or CLI_USAGE after naming it (what). */
int cli_take_number(const char *what, const char *text, unsigned max, unsigned *ret);

#endif
