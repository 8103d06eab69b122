/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - starts a program in a new session and signals all of a session, for command.c. */
#ifndef LAB_SESSION_H
#define LAB_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct terminal_size {
	uint16_t rows, columns;
};

/*
 * Starts argv in a session of its own.  fds get the agent's ends of stdin,
 * stdout, stderr, non-blocking.  With a terminal, stdin and stdout are two
 * descriptors of the terminal and stderr is -1.  Returns the pid or -errno.  A
 * program that cannot be executed exits 127 and prints why on stderr.
 */
pid_t session_start(char *const argv[], const struct terminal_size *terminal, int fds[3]);

/* Sends `signal` to every process of the session `leader` started. */
void session_signal(pid_t leader, int signal);

#endif
