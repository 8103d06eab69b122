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
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shortage.h"

#define WARN_PAUSE 60000U /* ms */

/*
 * Asks who listens at the address.  0, with the listener's pid; -ECONNREFUSED: the address is a
 * socket file that nobody listens on; or another negative errno.
 */
static int ask_listener(const struct sockaddr_un *address, int type, pid_t *ret_pid)
{
	struct ucred peer = {0};
	socklen_t length = sizeof(peer);
	struct stat st;
	int fd, r = 0;

	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		r = -errno;
	close(fd);
	*ret_pid = peer.pid;
	return r;
}

/* "vreadd" of that pid; "another program" if it cannot be found out. */
static const char *name_of(pid_t pid, char name[32])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 32, f))
		snprintf(name, 32, "another program");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static void tell_in_use(const char *path, int asked, pid_t pid)
{
	char name[32];

	if (asked == 0 && pid)
		log_error("%s: %s (pid %d) already runs and listens there: end it first", path,
			  name_of(pid, name), (int)pid);
	else if (asked == 0)
		log_error("%s: a program outside this container already listens there: end it "
			  "first",
			  path);
	else if (asked == -ENOTSOCK)
		log_error("%s: cannot listen: a file that is no socket is there: remove it", path);
	else
		log_error("%s: cannot listen: Address already in use, and nobody answers there: "
			  "%s",
			  path, strerror(-asked));
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
	int fd, r, asked = 0;
	pid_t pid = 0;

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
	if (r == -EADDRINUSE)
		asked = ask_listener(&address, type, &pid);
	if (asked == -ECONNREFUSED && unlink(path) == 0)
		r = bind_and_listen(fd, &address, mode);
	if (r == -EADDRINUSE)
		tell_in_use(path, asked, pid);
	else if (r)
		log_error("%s: cannot listen: %s%s", path, strerror(-r),
			  r == -ENOENT ? "; create the folder first" : "");
	if (r)
		close(fd);
	return r ? r : fd;
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
