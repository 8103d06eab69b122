// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listening UNIX sockets; see unix_listen.h.  Called by control/, port/local and peer/answering.
 *
 * The mode is in force before anyone can connect: bind() makes the file under a umask, and listen()
 * comes last.
 */
#include "base/unix_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shortage.h"

#define WARN_PAUSE 60000U /* ms */

/* True if the address is a socket file that nobody listens on. */
static bool is_stale(const struct sockaddr_un *address, int type)
{
	struct stat st;
	bool stale;
	int fd;

	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
		errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int bind_and_listen(int fd, const struct sockaddr_un *address, mode_t mode)
{
	mode_t mask = umask(~mode & 0777);
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	umask(mask);
	if (!r && listen(fd, 64))
		r = -errno;
	return r;
}

int unix_listen(const char *path, int type, mode_t mode)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, r;

	if (strlen(path) >= sizeof(address.sun_path)) {
		log_error("socket %s: the path is too long; expected at most 107 bytes", path);
		return -ENAMETOOLONG;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		r = -errno;
		log_error("%s: socket: %s", path, strerror(-r));
		return r;
	}
	r = bind_and_listen(fd, &address, mode);
	if (r == -EADDRINUSE && is_stale(&address, type) && unlink(path) == 0)
		r = bind_and_listen(fd, &address, mode);
	if (r) {
		log_error("%s: cannot listen: %s%s", path, strerror(-r),
			  r == -EADDRINUSE ? "; is another vreadd running?"
			  : r == -ENOENT   ? "; create the folder first"
					   : "");
		close(fd);
		return r;
	}
	return fd;
}

int unix_spare_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* At most one line a minute, because anybody may connect again and again. */
static void warn_of_limit(void)
{
	static _Atomic uint64_t next;

	if (clock_ms() < atomic_load(&next))
		return;
	atomic_store(&next, clock_ms() + WARN_PAUSE);
	log_warn("out of file descriptors: a connection was refused; raise LimitNOFILE");
}

int unix_accept(int listener, int *spare_fd)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || !is_shortage(-errno) || *spare_fd < 0)
		return fd;
	close(*spare_fd);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	*spare_fd = unix_spare_fd();
	warn_of_limit();
	return -1;
}
