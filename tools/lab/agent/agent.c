/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.c - runs the commands of the controller (tools/lab/agents.py) inside an emulated machine.
 *
 *   lab-agent port /dev/vport0p1    in dom0
 *   lab-agent vchan data/lab        in a guest
 *
 * It is process 1, so it also reaps orphans.  Dom0 powers off when its
 * controller is gone, so that no emulator outlives the program that started
 * it; a guest waits for the next one.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "command.h"
#include "frame.h"
#include "link.h"

#define RECEIVE_BYTES (64U << 10)
#define FRAMES_LIMIT (256U << 10)
#define FIXED_FDS 3 /* the link, its watch, the signals */

static bool dispatch(const struct frame_header *h, const char *body)
{
	switch (h->type) {
	case FRAME_RUN:
		command_run(h->id, body, h->length);
		return true;
	case FRAME_STDIN:
		command_input(h->id, body, h->length);
		return true;
	case FRAME_KILL:
		command_signal(h->id, body, h->length);
		return true;
	case FRAME_RESIZE:
		command_resize(h->id, body, h->length);
		return true;
	}
	return false;
}

/* Handles every whole frame in `in`; false if a frame is malformed. */
static bool handle_frames(struct queue *in)
{
	struct frame_header h;

	while (queue_length(in) >= sizeof(h)) {
		memcpy(&h, queue_head(in), sizeof(h));
		if (h.length > FRAME_MAX) {
			fprintf(stderr, "lab-agent: frame of %u bytes\n", h.length);
			return false;
		}
		if (queue_length(in) < sizeof(h) + h.length)
			return true;
		if (!dispatch(&h, queue_head(in) + sizeof(h))) {
			fprintf(stderr, "lab-agent: unknown frame type %u\n", h.type);
			return false;
		}
		queue_drop(in, sizeof(h) + h.length);
	}
	return true;
}

/* Moves all bytes it can without waiting; false when the link is gone or a frame is malformed. */
static bool pump(struct link *link, struct queue *in, struct queue *out)
{
	char buffer[RECEIVE_BYTES];
	ssize_t n;

	while ((n = link_recv(link, buffer, sizeof(buffer))) > 0) {
		queue_put(in, buffer, n);
		if (!handle_frames(in))
			return false;
	}
	if (n < 0)
		return false;
	while (queue_length(out)) {
		n = link_send(link, queue_head(out), queue_length(out));
		if (n <= 0)
			return n == 0;
		queue_drop(out, n);
	}
	return true;
}

static void serve(struct link *link, int signals)
{
	struct pollfd fds[FIXED_FDS + COMMANDS_MAX * COMMAND_FDS];
	struct queue in = {0}, out = {0};
	struct signalfd_siginfo info;
	size_t count;

	command_init(&out);
	frame_put(&out, FRAME_HELLO, 0, &(uint32_t){FRAME_VERSION}, sizeof(uint32_t));
	while (pump(link, &in, &out)) {
		fds[0] = (struct pollfd){.fd = link_fd(link),
					 .events = link_events(link, queue_length(&out))};
		fds[1] = (struct pollfd){.fd = link_watch_fd(link), .events = POLLIN};
		fds[2] = (struct pollfd){.fd = signals, .events = POLLIN};
		count = command_poll(fds + FIXED_FDS, FRAMES_LIMIT);
		if (poll(fds, FIXED_FDS + count, command_next_deadline()) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			link_woken(link);
		if (fds[1].revents && link_lost(link))
			break;
		if (fds[2].revents && read(signals, &info, sizeof(info)) < 0)
			break;
		command_ready(fds + FIXED_FDS, count);
		command_reap();
	}
	command_kill_all();
	queue_free(&in);
	queue_free(&out);
}

static int watch_children(void)
{
	sigset_t mask;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	return signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void serve_port(const char *path, int signals)
{
	struct link *link = link_open_port(path);

	if (link) {
		serve(link, signals);
		link_close(link);
	}
	fprintf(stderr, "lab-agent: the controller is gone, powering off\n");
	sync();
	reboot(RB_POWER_OFF);
}

static void serve_vchan(const char *path, int signals)
{
	for (;;) {
		struct link *link = link_open_vchan(path);

		if (!link) {
			sleep(1);
			continue;
		}
		serve(link, signals);
		link_close(link);
	}
}

int main(int argc, char **argv)
{
	int signals = watch_children();

	if (argc == 3 && signals >= 0 && !strcmp(argv[1], "port"))
		serve_port(argv[2], signals);
	else if (argc == 3 && signals >= 0 && !strcmp(argv[1], "vchan"))
		serve_vchan(argv[2], signals);
	else
		fprintf(stderr, "usage: lab-agent port DEVICE | lab-agent vchan PATH\n");
	return 2;
}
