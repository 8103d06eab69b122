// SPDX-License-Identifier: GPL-2.0-or-later
/* look.c - implements the section "looking" of doctor.h: files, xenstore nodes and programs.
 * Called by report.c and by the checks. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

#define RUN_MS 120000              /* a JVM on a busy machine */
#define RUN_MOST ((size_t)1 << 20) /* bytes of output */

extern char **environ;

const char *doctor_path(const struct doctor *d, const char *path, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%s%s", d->root, path);
	return buf;
}

bool doctor_exists(const struct doctor *d, const char *path)
{
	char buf[PATH_MAX];

	return access(doctor_path(d, path, buf), F_OK) == 0;
}

bool doctor_read_line(const struct doctor *d, const char *path, char line[DOCTOR_LINE])
{
	char buf[PATH_MAX];
	FILE *f = fopen(doctor_path(d, path, buf), "re");
	bool ok = f && fgets(line, DOCTOR_LINE, f);

	if (f)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

char *doctor_node(const struct doctor *d, const char *directory, const char *node)
{
	char path[PATH_MAX];
	unsigned length;

	if (!d->xs)
		return NULL;
	snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "", node);
	return xs_read(d->xs, XBT_NULL, path, &length);
}

/* ---- programs ------------------------------------------------------------------------ */

static int spawn(char *const argv[], int output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until fd can be read.  False: not before the deadline. */
static bool await(int fd, int64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left;
	int r = -1;

	while (r < 0 && (left = deadline - now_ms()) > 0)
		r = poll(&p, 1, (int)left);
	return r > 0;
}

/* Reads up to the end of file.  Bytes beyond RUN_MOST are dropped.  0 or -ETIME. */
static int collect(int fd, char *text)
{
	int64_t deadline = now_ms() + RUN_MS;
	size_t used = 0;

	for (;;) {
		char piece[4096];
		ssize_t n;

		if (!await(fd, deadline))
			return -ETIME;
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if ((size_t)n > RUN_MOST - used)
			n = (ssize_t)(RUN_MOST - used);
		memcpy(text + used, piece, (size_t)n);
		used += (size_t)n;
	}
	text[used] = '\0';
	return 0;
}

static int finish(pid_t pid, bool overdue)
{
	int status;

	if (overdue)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (overdue)
		return -ETIME;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int doctor_run(char *const argv[], char **ret)
{
	char *text = malloc(RUN_MOST + 1);
	int ends[2], r;
	pid_t pid;

	if (!text || pipe2(ends, O_CLOEXEC) < 0) {
		free(text);
		return -ENOMEM;
	}
	r = spawn(argv, ends[1], &pid);
	close(ends[1]);
	if (!r)
		r = finish(pid, collect(ends[0], text) != 0);
	close(ends[0]);
	if (r >= 0)
		*ret = text;
	else
		free(text);
	return r;
}
