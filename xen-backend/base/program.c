// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements program.h. */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char *program_find(const char *name)
{
	char running[PATH_MAX], *path;
	ssize_t length = readlink("/proc/self/exe", running, sizeof(running) - 1);

	if (length > 0) {
		running[length] = '\0';
		strrchr(running, '/')[1] = '\0';
		if (asprintf(&path, "%s%s", running, name) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return asprintf(&path, VREAD_LIBEXECDIR "/%s", name) < 0 ? NULL : path;
}

/* ---- starting ---------------------------------------------------------------------- */

static int make_channels(const struct program *p, int ours[], int theirs[])
{
	for (unsigned i = 0; i < p->num_channels; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, p->socket_type | SOCK_CLOEXEC, 0, pair) < 0)
			return -errno;
		ours[i] = pair[0];
		/* above all descriptors that the program gets */
		theirs[i] = fcntl(pair[1], F_DUPFD_CLOEXEC, p->first_fd + (int)p->num_channels);
		close(pair[1]);
		if (theirs[i] < 0)
			return -errno;
	}
	return 0;
}

static void close_all(const int fds[], unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int spawn(const struct program *p, const int theirs[], pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, 0, 1);
	for (unsigned i = 0; i < p->num_channels && !r; i++)
		r = posix_spawn_file_actions_adddup2(&actions, theirs[i], p->first_fd + (int)i);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(&actions,
							     p->first_fd + (int)p->num_channels);
	if (!r)
		r = posix_spawn(ret, p->path, &actions, &attributes, p->arguments, p->environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int program_start(const struct program *p, int ret_channels[], pid_t *ret)
{
	int ours[PROGRAM_MAX_CHANNELS], theirs[PROGRAM_MAX_CHANNELS];
	int r;

	memset(ours, -1, sizeof(ours));
	memset(theirs, -1, sizeof(theirs));
	r = make_channels(p, ours, theirs);
	if (r == 0)
		r = spawn(p, theirs, ret);
	close_all(theirs, p->num_channels);
	if (r < 0)
		close_all(ours, p->num_channels);
	else
		memcpy(ret_channels, ours, p->num_channels * sizeof(*ours));
	return r;
}
