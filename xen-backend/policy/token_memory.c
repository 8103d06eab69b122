// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads, replaces and removes the file that remembers a datanode's block tokens; see
 * token_memory.h.  policy/tokens.c calls these functions.
 */
#include "policy/token_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_BYTES 512 /* our own files are shorter */
#define FORM "{\"datanode\": \"%s\", \"tokens\": \"on\", \"since\": %lld}\n"

struct paths {
	char file[PATH_MAX];
	char fresh[PATH_MAX]; /* no datanode's name begins with a dot */
};

static int set_paths(const char *folder, const char *datanode, struct paths *ret, char **ret_error)
{
	if (snprintf(ret->file, PATH_MAX, "%s/%s.json", folder, datanode) < PATH_MAX &&
	    snprintf(ret->fresh, PATH_MAX, "%s/.%s.json.new", folder, datanode) < PATH_MAX)
		return 0;
	return error_text(ret_error, -ENAMETOOLONG, "%s: token-files: expected a shorter path",
			  folder);
}

/* ---- reading --------------------------------------------------------------------------- */

/* Returns the number of bytes read, at most max, or negative errno. */
static ssize_t read_bytes(const char *path, char *bytes, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = 0, done = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	while ((size_t)done < max && (n = read(fd, bytes + done, max - (size_t)done)) > 0)
		done += n;
	done = n < 0 ? -errno : done;
	close(fd);
	return done;
}

/* Parses the object.  False: it is not exactly of the form that we write. */
static bool parse(const char *bytes, size_t length, const char *datanode, int64_t *ret_since)
{
	json_t *o = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);
	const char *name = "", *tokens = "";
	json_int_t since = 0;
	bool valid = json_unpack_ex(o, NULL, JSON_STRICT, "{s:s, s:s, s:I}", "datanode", &name,
				    "tokens", &tokens, "since", &since) == 0 &&
		     strcmp(name, datanode) == 0 && strcmp(tokens, "on") == 0 && since >= 0;

	json_decref(o);
	if (valid)
		*ret_since = since;
	return valid;
}

int token_memory_read(const char *folder, const char *datanode, int64_t *ret_since,
		      char **ret_error)
{
	char bytes[MAX_BYTES + 1];
	struct paths p;
	ssize_t n = set_paths(folder, datanode, &p, ret_error);

	if (n < 0)
		return (int)n;
	n = read_bytes(p.file, bytes, sizeof(bytes));
	if (n == -ENOENT)
		return 0;
	if (n < 0 && n != -EINVAL)
		return error_text(ret_error, (int)n, "%s: cannot read: %s", p.file,
				  strerror((int)-n));
	if (n >= 0 && n <= MAX_BYTES && parse(bytes, (size_t)n, datanode, ret_since))
		return 1;
	return error_text(ret_error, -EINVAL,
			  "%s: damaged: expected a file of vreadd that says that datanode %s uses "
			  "block tokens",
			  p.file, datanode);
}

/* ---- writing --------------------------------------------------------------------------- */

static bool put(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t n;
	bool ok;

	if (fd < 0)
		return false;
	n = write(fd, text, length);
	if (n >= 0 && (size_t)n != length)
		errno = ENOSPC;
	ok = n == (ssize_t)length && fsync(fd) == 0;
	return close(fd) == 0 && ok;
}

/* A rename or a removal in the folder survives a crash. */
static bool sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

int token_memory_write(const char *folder, const char *datanode, int64_t since, char **ret_error)
{
	char text[MAX_BYTES];
	struct paths p;
	int n = set_paths(folder, datanode, &p, ret_error), err;

	if (n < 0)
		return n;
	n = snprintf(text, sizeof(text), FORM, datanode, (long long)since);
	if (n >= (int)sizeof(text))
		return error_text(ret_error, -ENAMETOOLONG, "%s: the name is too long", datanode);
	mkdir(folder, 0700); /* if this fails, put() does, too */
	if (put(p.fresh, text, (size_t)n) && rename(p.fresh, p.file) == 0 && sync_folder(folder))
		return 0;
	err = -errno;
	unlink(p.fresh);
	return error_text(ret_error, err, "%s: cannot write: %s", p.file, strerror(-err));
}

int token_memory_remove(const char *folder, const char *datanode, char **ret_error)
{
	struct paths p;
	int err = set_paths(folder, datanode, &p, ret_error);

	if (err < 0)
		return err;
	if (unlink(p.file) == 0 ? sync_folder(folder) : errno == ENOENT)
		return 0;
	err = -errno;
	return error_text(ret_error, err, "%s: cannot remove: %s", p.file, strerror(-err));
}
