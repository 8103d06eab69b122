/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - a process that works for vreadd as long as vreadd runs: vread-opener, which
 * privileges.c starts, and vread-key-agent, which daemon.c starts.
 *
 * Neither is started again alone: an ordinary user cannot start the opener, and only the datanodes
 * could give the agent its keys once more.  So vreadd ends when one of them does, and systemd
 * starts all.
 */
#ifndef VREAD_CONTROL_HELPER_H
#define VREAD_CONTROL_HELPER_H

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "base/program.h"

struct helper {
	pid_t pid; /* 0: there is none */
	int ends;  /* with a process: its first channel, which hangs up when the process ends */
	sd_event_source *watch;
};

/* Starts how->arguments[0]; how->path is not used.  Returns 0 with this side's ends of the
 * channels, which belong to the caller; or negative errno after a line in the log. */
int helper_start(struct helper *h, const struct program *how, int ret_channels[]);
/* Logs the text and ends the event loop with -ECHILD when the process ends, or when this side shuts
 * the first channel down, since the process does not answer as it should.  text: static; what has
 * ended, and what needs it.  Returns 0 or negative errno. */
int helper_watch(struct helper *h, sd_event *event, const char *text);
/* Kills the process and waits for its end.  Does nothing without a process, so for {0}. */
void helper_end(struct helper *h);

#endif
