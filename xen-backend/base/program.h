/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - finds and starts the programs that vreadd talks with over sockets: vread-parser
 * (datanode/process.c) and vread-opener (control/privileges.c).
 *
 * Threads: any.
 */
#ifndef VREAD_BASE_PROGRAM_H
#define VREAD_BASE_PROGRAM_H

#include <sys/types.h>

#define PROGRAM_MAX_CHANNELS 16U

/* Returns the path of the program (free() it): the one beside the running program, or else the
 * installed one.  NULL: out of memory. */
char *program_find(const char *name);

struct program {
	const char *path;
	char *const *arguments;   /* with the name of the program first; ends with NULL */
	char *const *environment; /* all of it; ends with NULL */
	int socket_type;          /* of the channels: SOCK_STREAM, ... */
	unsigned num_channels;    /* 1 to PROGRAM_MAX_CHANNELS */
	int first_fd;             /* the program's end of the first channel; the others follow */
};

/*
 * Starts the program in a process group of its own.  The process gets /dev/null as standard input
 * and output, vreadd's standard error, its ends of the channels, and no other descriptors.  It
 * blocks and ignores no signals.
 *
 * Returns 0 and this side's ends of the channels, which are close-on-exec, and the process;
 * or negative errno.
 */
int program_start(const struct program *p, int ret_channels[], pid_t *ret);

#endif
