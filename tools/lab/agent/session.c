/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.c - see session.h.
 *
 * Signalling goes by session, not process group: an interactive shell gives
 * each job a group of its own, and a timeout must end them all.
 */
#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void close_all(int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* fds: the agent's ends; child: the ends the program gets. */
static int open_pipes(int fds[3], int child[3])
{
	int pair[2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pair, O_CLOEXEC)) {
			int err = -errno;

			close_all(fds, i);
			close_all(child, i);
			return err;
		}
		fds[i] = i == 0 ? pair[1] : pair[0];
		child[i] = i == 0 ? pair[0] : pair[1];
	}
	return 0;
}

static int open_terminal(const struct terminal_size *size, int fds[3], int child[3])
{
	struct winsize w = {.ws_row = size->rows, .ws_col = size->columns};
	int err, leader = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (leader < 0)
		return -errno;
	if (grantpt(leader) || unlockpt(leader) || ptsname_r(leader, name, sizeof(name)))
		goto fail;
	child[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (child[0] < 0)
		goto fail;
	ioctl(leader, TIOCSWINSZ, &w);
	child[1] = fcntl(child[0], F_DUPFD_CLOEXEC, 0);
	child[2] = fcntl(child[0], F_DUPFD_CLOEXEC, 0);
	fds[0] = fcntl(leader, F_DUPFD_CLOEXEC, 0);
	fds[1] = leader;
	fds[2] = -1;
	return 0;
fail:
	err = -errno;
	close(leader);
	return err;
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static _Noreturn void execute(char *const argv[], bool terminal, const int child[3])
{
	setsid();
	for (int i = 0; i < 3; i++)
		dup2(child[i], i);
	if (terminal)
		ioctl(0, TIOCSCTTY, 0);
	reset_signals();
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

pid_t session_start(char *const argv[], const struct terminal_size *terminal, int fds[3])
{
	int child[3] = {-1, -1, -1};
	int err = terminal ? open_terminal(terminal, fds, child) : open_pipes(fds, child);
	pid_t pid;

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		execute(argv, terminal, child);
	err = -errno;
	close_all(child, 3);
	if (pid < 0) {
		close_all(fds, 3);
		return err;
	}
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
	return pid;
}

/* The session of a process, from /proc/PID/stat; -1 when it is gone. */
static pid_t session_of(const char *pid)
{
	char path[300], line[512], *after_name;
	int session = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	/* The name, in parentheses, may hold anything; numbers follow it. */
	after_name = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	if (after_name && sscanf(after_name, ") %*c %*d %*d %d", &session) != 1)
		session = -1;
	fclose(file);
	return session;
}

void session_signal(pid_t leader, int signal)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	/* The leader is the agent's unreaped child, so its number is not reused.  The leader is
	 * always signalled: just forked, it has no session yet. */
	if (!proc) {
		kill(-leader, signal);
		return;
	}
	while ((entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 1 && (pid == leader || session_of(entry->d_name) == leader))
			kill(pid, signal);
	}
	closedir(proc);
}
