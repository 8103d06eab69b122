// SPDX-License-Identifier: GPL-2.0-or-later
/* A sparse file in memory; see window.h. */
#include "layout/window.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Superblocks, partition tables and labels of volume managers are there. */
#define HEAD_BYTES (256U << 10)
#define TAIL_BYTES (128U << 10) /* backup GPT, labels of RAID and ZFS */

static int copy(int fd, struct volume *v, uint64_t offset, size_t length)
{
	uint8_t *buf = malloc(length);
	int r = buf ? volume_read(v, offset, buf, length) : -ENOMEM;

	if (r == 0 && pwrite(fd, buf, length, (off_t)offset) != (ssize_t)length)
		r = -EIO;
	free(buf);
	return r;
}

int window_add(int fd, struct volume *v, uint64_t offset, uint64_t length)
{
	uint64_t size = volume_size(v);

	if (offset >= size)
		return 0;
	return copy(fd, v, offset, (size_t)(length < size - offset ? length : size - offset));
}

int window_open(struct volume *v)
{
	uint64_t size = volume_size(v);
	uint64_t tail = size > TAIL_BYTES ? (size - TAIL_BYTES) & ~UINT64_C(511) : 0;
	int fd = memfd_create("vread-window", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = ftruncate(fd, (off_t)size) < 0 ? -errno : window_add(fd, v, 0, HEAD_BYTES);
	if (r == 0)
		r = window_add(fd, v, tail, TAIL_BYTES + 512);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}
