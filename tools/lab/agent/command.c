/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.c - see command.h.
 *
 * A command ends when the process that was started ends: what it had written
 * by then is still in its pipes and is sent first.  Processes it left in the
 * background live on, but nobody reads their output any more.
 */
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "session.h"

#define READ_BYTES (32U << 10)
/* A pipe holds 64 KiB, so a leader's last words are within this. */
#define DRAIN_BYTES (128U << 10)
/* How long a process may take to die of SIGKILL before it is called stuck. */
#define STUCK_MS 10000
#define ARGS_MAX 256

struct command {
	uint32_t id;
	pid_t pid; /* 0: free slot */
	int fds[COMMAND_FDS];
	struct queue input;
	bool input_ended;
	int64_t deadline; /* 0: none */
	bool timed_out;
};

static struct command commands[COMMANDS_MAX];
static struct queue *output;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

void command_init(struct queue *frames)
{
	output = frames;
}

void frame_put(struct queue *frames, uint8_t type, uint32_t id, const void *data, uint32_t size)
{
	struct frame_header h = {.length = size, .id = id, .type = type};

	queue_put(frames, &h, sizeof(h));
	queue_put(frames, data, size);
}

static struct command *find(uint32_t id)
{
	for (int i = 0; i < COMMANDS_MAX; i++)
		if (commands[i].pid && commands[i].id == id)
			return &commands[i];
	return NULL;
}

static struct command *find_free(void)
{
	for (int i = 0; i < COMMANDS_MAX; i++)
		if (!commands[i].pid)
			return &commands[i];
	return NULL;
}

static void close_fd(struct command *c, int which)
{
	if (c->fds[which] >= 0)
		close(c->fds[which]);
	c->fds[which] = -1;
}

static void put_exit(uint32_t id, uint32_t status, uint32_t flags, pid_t pid)
{
	struct frame_exit e = {.status = status, .flags = flags, .pid = pid};

	frame_put(output, FRAME_EXIT, id, &e, sizeof(e));
}

static void release(struct command *c)
{
	for (int i = 0; i < COMMAND_FDS; i++)
		close_fd(c, i);
	queue_free(&c->input);
	c->pid = 0;
}

static void refuse(uint32_t id, const char *what)
{
	frame_put(output, FRAME_STDERR, id, what, strlen(what));
	put_exit(id, 126, 0, 0);
}

/* Splits NUL-terminated strings; returns their number, 0 if malformed. */
static size_t split_arguments(char *body, size_t size, char **argv)
{
	size_t count = 0;

	if (!size || body[size - 1])
		return 0;
	for (char *s = body; s < body + size; s += strlen(s) + 1) {
		if (count == ARGS_MAX)
			return 0;
		argv[count++] = s;
	}
	argv[count] = NULL;
	return count;
}

static void start(struct command *c, uint32_t id, const struct frame_run *run, char **argv)
{
	struct terminal_size size = {run->rows, run->columns};
	pid_t pid = session_start(argv, run->flags & FRAME_RUN_PTY ? &size : NULL, c->fds);

	if (pid < 0) {
		refuse(id, strerror(-pid));
		return;
	}
	c->id = id;
	c->pid = pid;
	c->input_ended = false;
	c->timed_out = false;
	c->deadline = run->timeout_ms ? now_ms() + run->timeout_ms : 0;
}

void command_run(uint32_t id, const char *body, size_t size)
{
	char *argv[ARGS_MAX + 1], *strings;
	struct command *c = find_free();
	struct frame_run run;

	if (!c || size <= sizeof(run) || find(id)) {
		refuse(id, c ? "lab-agent: malformed RUN\n" : "lab-agent: too many commands\n");
		return;
	}
	memcpy(&run, body, sizeof(run));
	size -= sizeof(run);
	strings = malloc(size);
	if (!strings)
		abort();
	memcpy(strings, body + sizeof(run), size);
	if (split_arguments(strings, size, argv))
		start(c, id, &run, argv);
	else
		refuse(id, "lab-agent: malformed arguments\n");
	free(strings);
}

static void drop_input(struct command *c)
{
	uint32_t length = queue_length(&c->input);

	/* Nobody will read it.  It is acknowledged, because the controller waits for that. */
	queue_drop(&c->input, length);
	if (length)
		frame_put(output, FRAME_ACK, c->id, &length, sizeof(length));
	close_fd(c, 0);
}

static void flush_input(struct command *c)
{
	ssize_t n;

	if (c->fds[0] < 0) {
		drop_input(c);
		return;
	}
	while (queue_length(&c->input)) {
		n = write(c->fds[0], queue_head(&c->input), queue_length(&c->input));
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			drop_input(c);
			return;
		}
		queue_drop(&c->input, n);
		frame_put(output, FRAME_ACK, c->id, &(uint32_t){n}, sizeof(uint32_t));
	}
	if (c->input_ended)
		close_fd(c, 0);
}

void command_input(uint32_t id, const char *body, size_t size)
{
	struct command *c = find(id);

	if (!c)
		return; /* ended meanwhile */
	if (queue_length(&c->input) + size > FRAME_WINDOW) {
		fprintf(stderr, "lab-agent: command %u got more input than the window\n", id);
		session_signal(c->pid, SIGKILL);
		return;
	}
	if (!size)
		c->input_ended = true;
	queue_put(&c->input, body, size);
	flush_input(c);
}

void command_signal(uint32_t id, const char *body, size_t size)
{
	struct command *c = find(id);
	uint32_t signal;

	if (!c || size != sizeof(signal))
		return;
	memcpy(&signal, body, sizeof(signal));
	session_signal(c->pid, signal);
}

void command_resize(uint32_t id, const char *body, size_t size)
{
	struct command *c = find(id);
	uint16_t v[2];

	if (!c || size != sizeof(v))
		return;
	memcpy(v, body, sizeof(v));
	ioctl(c->fds[1], TIOCSWINSZ, &(struct winsize){.ws_row = v[0], .ws_col = v[1]});
}

size_t command_poll(struct pollfd *fds, size_t frames_limit)
{
	bool reading = queue_length(output) < frames_limit;

	for (int i = 0; i < COMMANDS_MAX; i++) {
		struct command *c = &commands[i];
		bool writing = c->pid && queue_length(&c->input);
		struct pollfd *p = &fds[i * COMMAND_FDS];

		/* A hung-up descriptor polls ready whatever is asked: leave it out. */
		p[0] = (struct pollfd){.fd = writing ? c->fds[0] : -1, .events = POLLOUT};
		p[1] = (struct pollfd){.fd = c->pid && reading ? c->fds[1] : -1, .events = POLLIN};
		p[2] = (struct pollfd){.fd = c->pid && reading ? c->fds[2] : -1, .events = POLLIN};
	}
	return (size_t)COMMANDS_MAX * COMMAND_FDS;
}

/* Sends what one read gives; false when there is nothing more for now. */
static bool forward_output(struct command *c, int which)
{
	char buffer[READ_BYTES];
	ssize_t n;

	if (c->fds[which] < 0)
		return false;
	n = read(c->fds[which], buffer, sizeof(buffer));
	if (n > 0) {
		frame_put(output, which == 1 ? FRAME_STDOUT : FRAME_STDERR, c->id, buffer, n);
		return true;
	}
	if (n == 0 || errno != EAGAIN)
		close_fd(c, which); /* end, or EIO of a terminal nobody holds */
	return false;
}

void command_ready(const struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct command *c = &commands[i / COMMAND_FDS];

		if (fds[i].fd < 0 || !fds[i].revents)
			continue;
		if (i % COMMAND_FDS == 0)
			flush_input(c);
		else
			forward_output(c, i % COMMAND_FDS);
	}
}

static void ended(struct command *c, int wait_status)
{
	uint32_t status = WIFSIGNALED(wait_status) ? 128U + WTERMSIG(wait_status)
						   : (uint32_t)WEXITSTATUS(wait_status);

	for (int which = 1; which < COMMAND_FDS; which++)
		for (size_t n = 0; n < DRAIN_BYTES && forward_output(c, which);)
			n += READ_BYTES;
	put_exit(c->id, status, c->timed_out ? FRAME_EXIT_TIMED_OUT : 0, c->pid);
	release(c);
}

static void enforce_deadline(struct command *c)
{
	if (!c->deadline || now_ms() < c->deadline)
		return;
	if (c->timed_out) {
		put_exit(c->id, 128 + SIGKILL, FRAME_EXIT_TIMED_OUT | FRAME_EXIT_STUCK, c->pid);
		release(c);
		return;
	}
	c->timed_out = true;
	c->deadline = now_ms() + STUCK_MS;
	session_signal(c->pid, SIGKILL);
}

void command_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < COMMANDS_MAX; i++)
			if (commands[i].pid == pid)
				ended(&commands[i], status);
	for (int i = 0; i < COMMANDS_MAX; i++)
		if (commands[i].pid)
			enforce_deadline(&commands[i]);
}

int command_next_deadline(void)
{
	int64_t next = -1, now = now_ms();

	for (int i = 0; i < COMMANDS_MAX; i++) {
		int64_t d = commands[i].deadline;

		if (!commands[i].pid || !d)
			continue;
		d = d > now ? d - now : 0;
		if (next < 0 || d < next)
			next = d;
	}
	return next > 3600000 ? 3600000 : (int)next;
}

void command_kill_all(void)
{
	for (int i = 0; i < COMMANDS_MAX; i++) {
		if (!commands[i].pid)
			continue;
		session_signal(commands[i].pid, SIGKILL);
		release(&commands[i]);
	}
}
