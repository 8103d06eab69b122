// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hanging_disk.c - makes reads of one disk image hang, as a disk that does not answer does.
 * Preloaded (LD_PRELOAD) into vreadd by hanging_disk.py.
 *
 * While the FIFO $HANGING_DISK_GATE exists, a read of the file $HANGING_DISK_IMAGE finds nothing in
 * the page cache, adds a byte to $HANGING_DISK_LOG, and waits for a byte of the FIFO. No signal but
 * SIGKILL ends the wait. The test ends one wait with each byte that it writes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static bool hangs(int fd)
{
	const char *gate = getenv("HANGING_DISK_GATE");
	struct stat image, file;

	return gate && access(gate, F_OK) == 0 && fstat(fd, &file) == 0 &&
	       stat(getenv("HANGING_DISK_IMAGE"), &image) == 0 && file.st_dev == image.st_dev &&
	       file.st_ino == image.st_ino;
}

static void hang(void)
{
	int log = open(getenv("HANGING_DISK_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char byte;
	int fd;

	if (write(log, "r", 1) != 1)
		abort();
	close(log);
	do
		fd = open(getenv("HANGING_DISK_GATE"), O_RDONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	close(fd);
}

ssize_t pread(int fd, void *buf, size_t length, off_t offset)
{
	static ssize_t (*real)(int, void *, size_t, off_t);

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "pread");
	if (hangs(fd))
		hang();
	return real(fd, buf, length, offset);
}

ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	static ssize_t (*real)(int, const struct iovec *, int, off_t, int);

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "preadv2");
	if (hangs(fd) && flags & RWF_NOWAIT) {
		errno = EAGAIN;
		return -1;
	}
	return real(fd, iov, count, offset, flags);
}
