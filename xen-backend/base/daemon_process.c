// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements daemon_process.h. */
#include "base/daemon_process.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/log.h"

static int on_end(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	(void)userdata;
	log_info("stopping: %s", strsignal((int)si->ssi_signo));
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

void daemon_hold_hangup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int daemon_catch_signals(sd_event *event, sd_event_signal_handler_t on_hangup, void *ctx)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a log or a record beyond RLIMIT_FSIZE is an error of write() */
	r = sd_event_add_signal(event, NULL, SIGTERM, on_end, NULL);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGINT, on_end, NULL);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGHUP, on_hangup, ctx);
	return r < 0 ? r : 0;
}

void daemon_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
