/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - starting a program in a new session, and signalling all of one. */
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
 * stdout, stderr, non-blocking; with a terminal all of stdin and stdout is one
 * descriptor twice (two numbers) and stderr is -1.  Returns the pid or -errno.
 * A program that cannot be executed exits 127 and says why on stderr.
 */
pid_t session_start(char *const argv[], const struct terminal_size *terminal, int fds[3]);

/* Sends `signal` to every process of the session `leader` started. */
void session_signal(pid_t leader, int signal);

#endif
