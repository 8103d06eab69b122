// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements state_file.h. A new file is written beside the old one and renamed.
 */
#include "base/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ------------------------------------------------------------------------ */

/* Returns the number of bytes read, at most `max`, or negative errno. */
static ssize_t read_bytes(int fd, char *bytes, size_t max)
{
	size_t got = 0;

	while (got < max) {
		ssize_t n = read(fd, bytes + got, max - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int read_open(int fd, size_t max, char **ret, size_t *ret_length)
{
	struct stat st;
	char *bytes;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size < 0 || (size_t)st.st_size > max)
		return -EFBIG;
	bytes = calloc(1, (size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	n = read_bytes(fd, bytes, (size_t)st.st_size);
	if (n < 0) {
		free(bytes);
		return (int)n;
	}
	*ret = bytes;
	*ret_length = (size_t)n;
	return 0;
}

int state_file_read(const char *path, size_t max, char **ret, size_t *ret_length)
{
	/* O_NONBLOCK: a FIFO in the place of the file must not hang the caller. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = read_open(fd, max, ret, ret_length);
	close(fd);
	return r;
}

/* ---- writing ------------------------------------------------------------------------ */

static int write_bytes(int fd, const char *text)
{
	while (*text) {
		ssize_t n = write(fd, text, strlen(text));

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return -errno;
	r = write_bytes(fd, text);
	if (close(fd) < 0 && !r)
		r = -errno;
	if (r)
		unlink(path);
	return r;
}

/* Makes a rename or a removal in the folder of the file survive a crash. */
static int sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int r = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;

	if (fd >= 0)
		close(fd);
	free(folder);
	return r;
}

int state_file_replace(const char *path, const char *text)
{
	char *fresh;
	int r;

	if (asprintf(&fresh, "%s.new", path) < 0)
		return -ENOMEM;
	r = write_file(fresh, text);
	if (!r && rename(fresh, path) < 0) {
		r = -errno;
		unlink(fresh);
	}
	free(fresh);
	return r ? r : sync_folder(path);
}

int state_file_remove(const char *path)
{
	if (unlink(path) < 0)
		return errno == ENOENT ? 0 : -errno;
	return sync_folder(path);
}
