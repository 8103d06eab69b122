// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens a file that an image names, if the file is where the operator allows; see naming.h.
 * disk/source.c and opener/answer.c call it.
 *
 * Links of procfs ("magic" links, as /proc/PID/root) are not followed.  They lead into mount
 * namespaces of other processes, where a path says nothing about this host's folders.
 */
#include "disk/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/shortage.h"

#define WHAT_TO_DO                                                                                 \
	"if you trust whoever writes the image, allow the folder: key backing-folders in "         \
	"vread.conf(5), option --backing-folder of the commands; otherwise take the image out of " \
	"use"

static int find(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Opens for reading the file that an O_PATH descriptor stands for.  O_NONBLOCK: a tape must not
 * hang the daemon. */
static int open_found(int found)
{
	char self[40];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Writes the path of an open file, without symbolic links. */
static bool path_of(int fd, char ret[PATH_MAX])
{
	char self[40];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, ret, PATH_MAX);
	if (n <= 0 || n >= PATH_MAX || ret[0] != '/')
		return false;
	ret[n] = '\0';
	return true;
}

/* ---- allowed folders ------------------------------------------------------------- */

/* Writes the path of a folder or a file without symbolic links. Returns 0 or negative errno. */
static int resolve(const char *path, char ret[PATH_MAX])
{
	int fd = open(path, O_PATH | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = path_of(fd, ret) ? 0 : -ENOENT;
	close(fd);
	return r;
}

/* Returns 1 if path is below folder, or is the same file.  Nothing counts as below the root folder,
 * which would allow every file.  Returns 0 if it is not, or the error of a shortage. */
static int is_below(const char *path, const char *folder)
{
	char there[PATH_MAX];
	size_t length;
	int r = resolve(folder, there);

	if (r < 0)
		return is_shortage(r) ? r : 0;
	length = strlen(there);
	return length > 1 && !strncmp(path, there, length) &&
	       (path[length] == '/' || path[length] == '\0');
}

/* As is_below(), for the listed folders. */
static int is_listed(const struct naming *n, const char *path)
{
	int r = 0;

	for (unsigned i = 0; i < n->folders->count && r == 0; i++)
		r = is_below(path, n->folders->path[i]);
	return r;
}

/* Writes the folder of the image that the operator named. */
static void own_folder(const struct naming *n, char ret[PATH_MAX])
{
	const char *slash = strrchr(n->top, '/');

	if (slash)
		snprintf(ret, PATH_MAX, "%.*s/", (int)(slash - n->top), n->top);
	else
		snprintf(ret, PATH_MAX, ".");
}

/* Returns the allowed folders for a message; free() it. */
static char *folders_text(const struct naming *n)
{
	char own[PATH_MAX], there[PATH_MAX], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	own_folder(n, own);
	if (resolve(own, there) == 0 && strcmp(there, "/") != 0)
		fprintf(out, "%s", there);
	for (unsigned i = 0; i < n->folders->count; i++)
		fprintf(out, "%s%s", ftell(out) ? ", " : "", n->folders->path[i]);
	if (ftell(out) == 0)
		fprintf(out, "none");
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

bool image_folder_valid(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return false;
	return path[0] == '/' && path[strspn(path, "/.")] && length < PATH_MAX &&
	       !strstr(path, "/../") && (length < 3 || strcmp(path + length - 3, "/..") != 0);
}

/* ---- opening ----------------------------------------------------------------------- */

static int outside(const struct naming *n, const char *path, const char *place, char **ret_error)
{
	char *folders = folders_text(n);
	bool elsewhere = strcmp(path, place) != 0 && printable(place);

	error_text(ret_error, -EACCES,
		   "image %s names %s as its backing file%s%s%s, outside of the allowed folders "
		   "(%s); " WHAT_TO_DO,
		   n->image, path, elsewhere ? " (it is at " : "", elsewhere ? place : "",
		   elsewhere ? ")" : "", folders ? folders : "out of memory");
	free(folders);
	return -EACCES;
}

static int wrong_kind(const struct naming *n, const char *path, mode_t mode, char **ret_error)
{
	return error_text(ret_error, -EINVAL, "image %s names %s as its backing file, which is %s",
			  n->image, path,
			  S_ISBLK(mode)
				  ? "a block device: a device must be below a folder that the key "
				    "backing-folders of vread.conf(5) or --backing-folder lists"
				  : "no regular file");
}

const char *naming_hint(int error)
{
	switch (error) {
	case -ENOENT:
		return "; check the path";
	case -EACCES:
		return "; let the user that runs vreadd read it: where a file server (NFS with "
		       "root_squash) or a security module (SELinux, AppArmor) decides, vreadd has "
		       "no "
		       "right that overrules them";
	case -ELOOP:
		return "; name it by a path without links of /proc";
	case -ENOSYS:
		return "; files are opened by openat2(2): it needs Linux 5.6 or later, and a unit "
		       "of "
		       "vreadd without RestrictSUIDSGID=";
	default:
		return "";
	}
}

static int not_found(const struct naming *n, const char *path, int error, char **ret_error)
{
	return error_text(ret_error, error, "image %s: its backing file %s: %s%s", n->image, path,
			  strerror(-error), naming_hint(error));
}

/* Checks the file that was found at path. */
static int check(const struct naming *n, const char *path, int found, char **ret_error)
{
	char place[PATH_MAX], own[PATH_MAX];
	struct stat st;
	int listed, allowed;

	if (fstat(found, &st) < 0)
		return error_text(ret_error, -errno, "image %s: its backing file %s: %s", n->image,
				  path, strerror(errno));
	if (!path_of(found, place))
		return error_text(ret_error, -EACCES,
				  "image %s: its backing file %s is at no known place", n->image,
				  path);
	own_folder(n, own);
	listed = is_listed(n, place);
	allowed = listed ? listed : is_below(place, own);
	if (allowed < 0)
		return not_found(n, path, allowed, ret_error);
	if (!allowed)
		return outside(n, path, place, ret_error);
	if (!S_ISREG(st.st_mode) && !(S_ISBLK(st.st_mode) && listed))
		return wrong_kind(n, path, st.st_mode, ret_error);
	return 0;
}

int naming_open(const struct naming *n, const char *path, char **ret_error)
{
	int found = find(path), r;

	if (found < 0)
		return not_found(n, path, found, ret_error);
	r = check(n, path, found, ret_error);
	if (r == 0) {
		r = open_found(found);
		if (r < 0)
			not_found(n, path, r, ret_error);
	}
	close(found);
	return r;
}

/* ---- files that the operator names --------------------------------------------------- */

int naming_check_kind(const char *path, mode_t mode, char **ret_error)
{
	if (S_ISDIR(mode))
		return error_text(
			ret_error, -EISDIR,
			"image %s is a directory; name a raw image file or a block device", path);
	if (!S_ISREG(mode) && !S_ISBLK(mode))
		return error_text(ret_error, -EINVAL,
				  "image %s is neither a regular file nor a block device", path);
	return 0;
}

static int image_error(const char *path, int error, char **ret_error)
{
	return error_text(ret_error, error, "image %s: %s%s", path, strerror(-error),
			  naming_hint(error));
}

int naming_find_image(const char *path, char **ret_error)
{
	int found = find(path);

	return found < 0 ? image_error(path, found, ret_error) : found;
}

int naming_open_image(const char *path, char **ret_error)
{
	int found = naming_find_image(path, ret_error), r;
	struct stat st;

	if (found < 0)
		return found;
	r = fstat(found, &st) < 0 ? image_error(path, -errno, ret_error)
				  : naming_check_kind(path, st.st_mode, ret_error);
	if (r == 0) {
		r = open_found(found);
		if (r < 0)
			image_error(path, r, ret_error);
	}
	close(found);
	return r;
}
