// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * output.c - writes the layout in one step: see output.h.  main.c calls it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "provision/output.h"

/* Makes every directory on the way to path.  Directories may exist already. */
static int make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return fchmod(fd, 0644) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* text NULL: only tries whether a file can be made, and removes it. */
static int replace(const char *path, char *temporary, const char *text)
{
	int fd = mkostemp(temporary, O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (text)
		r = write_all(fd, text);
	close(fd);
	if (r == 0 && text && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0 || !text)
		unlink(temporary);
	return r;
}

static int write_or_try(const char *path, const char *text, char **ret_error)
{
	char *temporary = NULL;
	int r = -ENOMEM;

	if (asprintf(&temporary, "%s.XXXXXX", path) >= 0) {
		r = make_parents(temporary);
		if (r == 0)
			r = replace(path, temporary, text);
		free(temporary);
	}
	if (r < 0)
		return error_text(ret_error, r, "layout %s cannot be written: %s", path,
				  strerror(-r));
	return 0;
}

int output_write(const char *path, const char *text, char **ret_error)
{
	return write_or_try(path, text, ret_error);
}

int output_check(const char *path, char **ret_error)
{
	return write_or_try(path, NULL, ret_error);
}
