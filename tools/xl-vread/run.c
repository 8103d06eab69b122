/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.c - implements run.h.  Called by xl.c and search.c. */
#include "run.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int run_program(const char *const *argv)
{
	int status, r;
	pid_t pid;

	r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
