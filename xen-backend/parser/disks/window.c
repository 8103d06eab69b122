// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes sparse files in memory that show parts of a volume. partition.c calls it; window.h
 * describes the functions.
 */
#include "parser/disks/window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first bytes hold superblocks, partition tables and labels of volume managers. */
#define HEAD_BYTES (256U << 10)
#define TAIL_BYTES (128U << 10) /* the last bytes: backup GPT, labels of RAID and ZFS */

static int copy(int fd, struct volume *v, uint64_t offset, size_t length)
{
	uint8_t *buf = malloc(length);
	int r = buf ? volume_read(v, offset, buf, length) : -ENOMEM;

	if (r == 0 && pwrite(fd, buf, length, (off_t)offset) != (ssize_t)length)
		r = -EIO;
	free(buf);
	return r;
}

/* Memory is allocated in pages, and a range may begin and end inside a page. */
static bool has_room(int fd, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), taken;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	taken = (uint64_t)st.st_blocks * 512 + 2 * page;
	return taken <= WINDOW_MAX_BYTES && length <= WINDOW_MAX_BYTES - taken;
}

int window_add(int fd, struct volume *v, uint64_t offset, uint64_t length)
{
	uint64_t size = volume_size(v);

	if (offset >= size)
		return 0;
	if (length > size - offset)
		length = size - offset;
	return has_room(fd, length) ? copy(fd, v, offset, (size_t)length) : -EFBIG;
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
