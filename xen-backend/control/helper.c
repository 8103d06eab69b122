// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements helper.h. */
#include "control/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

static int keep_channel(struct helper *h, int channel)
{
	h->ends = fcntl(channel, F_DUPFD_CLOEXEC, 0);
	return h->ends < 0 ? -errno : 0;
}

int helper_start(struct helper *h, const struct program *how, int ret_channels[])
{
	const char *name = how->arguments[0];
	char *path = program_find(name);
	struct program found = *how;
	int r;

	*h = (struct helper){0};
	found.path = path;
	r = path ? program_start(&found, ret_channels, &h->pid) : -ENOMEM;
	if (r == 0) {
		r = keep_channel(h, ret_channels[0]);
		for (unsigned i = 0; r < 0 && i < how->num_channels; i++)
			close(ret_channels[i]);
	}
	if (r < 0) {
		log_error("%s: cannot start it: %s", path ? path : name, strerror(-r));
		helper_end(h);
	}
	free(path);
	return r;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)fd, (void)events;
	log_error("%s: vreadd ends, too, and has to be started again", (const char *)userdata);
	return sd_event_exit(sd_event_source_get_event(source), -ECHILD);
}

int helper_watch(struct helper *h, sd_event *event, const char *text)
{
	int r = sd_event_add_io(event, &h->watch, h->ends, EPOLLHUP, on_end, (void *)text);

	return r < 0 ? r : 0;
}

void helper_end(struct helper *h)
{
	if (h->pid <= 0)
		return;
	sd_event_source_disable_unref(h->watch);
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
	if (h->ends >= 0)
		close(h->ends);
	*h = (struct helper){0};
}
