// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements program.h. */
#include "base/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
