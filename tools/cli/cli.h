/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - the frame that vread(1) and xl-vread(8) share: table of commands, help, errors, numbers.
 * Called by tools/vread and tools/xl-vread.
 *
 * Each command is one file with one entry point.  The program's commands.c holds the table.
 * Errors go to stderr as "PROGRAM COMMAND: object: what is wrong and what to do".
 */
#ifndef VREAD_CLI_H
#define VREAD_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes, as vread(1) and xl-vread(8) promise them. */
enum {
	CLI_OK = 0,
	CLI_FAILED = 1,  /* the command failed */
	CLI_USAGE = 2,   /* the command line is wrong */
	CLI_NO_PEER = 3, /* vreadd, the device or xenstore cannot be reached */
	CLI_PARTLY = 4,  /* vreadd goes on without a part of what was asked for */
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
	const char *synopsis;              /* printed after the name */
	const char *summary;
	const char *options; /* one per line, for `vread help COMMAND` */
};

/* Each program defines one, in its commands.c. */
struct program {
	const char *name;
	const char *summary;                   /* a sentence, printed above the list of commands */
	const char *manual;                    /* "vread(1)" */
	const char *elsewhere;                 /* where else a command may be, for errors */
	const struct command *const *commands; /* NULL-terminated */
	/* Takes options in front of the command.  Returns how many arguments they were, or -1 if
	 * an option is wrong.  NULL: the program has no such options. */
	int (*take_options)(int argc, char **argv);
	const char *wrong_option; /* for the error after -1: what was expected */
};

extern const struct program program;
extern const struct command command_version, command_help; /* every program has them */

const struct command *find_command(const char *name);
void print_help(const struct command *c);

/* Prints "PROGRAM COMMAND: ..." and a newline.  Returns code, for `return cli_error(...)`. */
__attribute__((format(printf, 2, 3))) int cli_error(int code, const char *format, ...);
/* The same for a wrong command line: also prints a hint to the help.  Returns CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);
/* For an option that getopt_long() has reported: prints the hint only.  Returns CLI_USAGE. */
int cli_bad_option(void);

/* Reads a decimal number, without sign or leading zero.  False: malformed, or not in min .. max. */
bool cli_number(const char *text, unsigned long long min, unsigned long long max,
		unsigned long long *ret);
/* Reads the number of an option or argument (what), 0 .. max.  CLI_OK, or CLI_USAGE after printing
 * an error that begins with what. */
int cli_take_number(const char *what, const char *text, unsigned max, unsigned *ret);

#endif
