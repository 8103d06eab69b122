// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * failing_calls.c - calls of vreadd or libvread that can be made to fail (failing.h): for memory, a
 * descriptor, a mapping, a thread or a process, or of a file or socket.  test_failing_calls.py and
 * test_failing_peer_calls.py run the programs.
 */
#include "../support/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-event.h>

int __real_open(const char *path, int flags, ...);
int __real_vasprintf(char **ret, const char *format, va_list ap);

#define NO_MEMORY (errno = ENOMEM, NULL)
#define NO_DESCRIPTOR (errno = EMFILE, -1)
#define BAD_DISK (errno = EIO, -1)

CALL(void *, malloc, (size_t n), (n), NO_MEMORY)
CALL(void *, calloc, (size_t n, size_t size), (n, size), NO_MEMORY)
CALL(void *, realloc, (void *p, size_t n), (p, n), NO_MEMORY)
CALL(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size), NO_MEMORY)
CALL(void *, aligned_alloc, (size_t align, size_t n), (align, n), NO_MEMORY)
CALL(int, posix_memalign, (void **ret, size_t align, size_t n), (ret, align, n), ENOMEM)
CALL(char *, strdup, (const char *s), (s), NO_MEMORY)
CALL(char *, strndup, (const char *s, size_t n), (s, n), NO_MEMORY)
CALL(FILE *, open_memstream, (char **at, size_t *size), (at, size), NO_MEMORY)
CALL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
     (at, n, prot, flags, fd, offset), (errno = ENOMEM, MAP_FAILED))
CALL(int, eventfd, (unsigned value, int flags), (value, flags), NO_DESCRIPTOR)
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), NO_DESCRIPTOR)
CALL(int, epoll_create1, (int flags), (flags), NO_DESCRIPTOR)
CALL(int, timerfd_create, (int clock, int flags), (clock, flags), NO_DESCRIPTOR)
CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), NO_DESCRIPTOR)
CALL(int, socketpair, (int domain, int type, int protocol, int fds[2]),
     (domain, type, protocol, fds), NO_DESCRIPTOR)
CALL(int, accept4, (int fd, struct sockaddr *at, socklen_t *size, int flags), (fd, at, size, flags),
     NO_DESCRIPTOR)
CALL(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event),
     (epoll, what, fd, event), (errno = ENOSPC, -1))
CALL(int, sd_event_add_io,
     (sd_event * e, sd_event_source **s, int fd, uint32_t events, sd_event_io_handler_t f, void *d),
     (e, s, fd, events, f, d), -ENOMEM)
CALL(int, ftruncate, (int fd, off_t length), (fd, length), (errno = ENOSPC, -1))
CALL(int, fstat, (int fd, struct stat *ret), (fd, ret), BAD_DISK)
CALL(int, stat, (const char *path, struct stat *ret), (path, ret), BAD_DISK)
CALL(int, rename, (const char *from, const char *to), (from, to), BAD_DISK)
CALL(int, fsync, (int fd), (fd), BAD_DISK)
CALL(ssize_t, pread, (int fd, void *buf, size_t n, off_t offset), (fd, buf, n, offset), BAD_DISK)
CALL(ssize_t, preadv2, (int fd, const struct iovec *iov, int count, off_t offset, int flags),
     (fd, iov, count, offset, flags), BAD_DISK)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
     (errno = ENOBUFS, -1))
CALL(int, pthread_create,
     (pthread_t * ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg),
     (ret, attr, f, arg), EAGAIN)
CALL(int, posix_spawn,
     (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]),
     (ret, path, actions, attr, argv, envp), EAGAIN)

/* Calls with a variable number of arguments. */
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return FAILS(open) ? NO_DESCRIPTOR : __real_open(path, flags, mode);
}

int __wrap_vasprintf(char **ret, const char *format, va_list ap);
int __wrap_vasprintf(char **ret, const char *format, va_list ap)
{
	return FAILS(vasprintf) ? (errno = ENOMEM, -1) : __real_vasprintf(ret, format, ap);
}

int __wrap_asprintf(char **ret, const char *format, ...);
int __wrap_asprintf(char **ret, const char *format, ...)
{
	bool failed = FAILS(asprintf);
	va_list ap;
	int r = -1;

	va_start(ap, format);
	if (!failed)
		r = __real_vasprintf(ret, format, ap);
	va_end(ap);
	return r;
}
