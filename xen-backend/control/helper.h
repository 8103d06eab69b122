/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - a process that works for vreadd as long as vreadd runs: vread-opener, which
 * privileges.c starts, and vread-key-agent, which daemon.c starts.
 *
 * Neither can be started again alone.  So vreadd ends when one of them does, and systemd starts
 * all.
 */
#ifndef VREAD_CONTROL_HELPER_H
#define VREAD_CONTROL_HELPER_H

#include <sys/types.h>

#include "base/program.h"

struct helper {
	pid_t pid; /* 0: there is none */
	int ends;  /* with a process: a pidfd, readable when the process has ended */
};

/* Starts how->arguments[0]; how->path is not used.  Returns 0 with this side's ends of the
 * channels, which belong to the caller; or negative errno after a line in the log. */
int helper_start(struct helper *h, const struct program *how, int ret_channels[]);
/* Kills the process and waits for its end.  Does nothing without a process, so for {0}. */
void helper_end(struct helper *h);

#endif
