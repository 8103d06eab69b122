// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements share.h. device.c calls it. */
#include "port/ivshmem/share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/doorbell.h"
#include "port/ivshmem/offer.h"

#define NEEDED_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool memory_valid(int fd, uint64_t bytes)
{
	struct stat st;

	return bytes >= IVSHMEM_MIN_MEMORY && bytes <= IVSHMEM_MAX_MEMORY && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size == bytes &&
	       (fcntl(fd, F_GET_SEALS) & NEEDED_SEALS) == NEEDED_SEALS;
}

static int map(struct ivshmem_share *s, int fd)
{
	void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	s->memory = memory;
	return 0;
}

int ivshmem_share_take(struct ivshmem_share *s, const struct ivshmem_message *m, int *fds,
		       unsigned num_fds)
{
	const unsigned vectors = 1 + m->queues;
	int r = -EPROTO;

	*s = (struct ivshmem_share){.bytes = m->memory, .queues = m->queues};
	memset(s->to_host, -1, sizeof(s->to_host));
	memset(s->to_guest, -1, sizeof(s->to_guest));
	memset(s->epoll, -1, sizeof(s->epoll));
	if (m->queues >= 1 && m->queues <= VREAD_MAX_QUEUES && num_fds == 1 + 2 * vectors &&
	    memory_valid(fds[0], m->memory))
		r = map(s, fds[0]);
	for (unsigned v = 0; !r && v < vectors; v++) {
		s->to_host[v] = fds[1 + v];
		s->to_guest[v] = fds[1 + vectors + v];
	}
	for (unsigned i = 0; i < num_fds; i++)
		if (r || i == 0)
			close_fd(&fds[i]);
	return r;
}

void ivshmem_share_destroy(struct ivshmem_share *s, bool free_pages)
{
	ivshmem_share_unwatch(s);
	if (s->memory && free_pages)
		madvise(s->memory, s->bytes, MADV_REMOVE);
	if (s->memory)
		munmap(s->memory, s->bytes);
	s->memory = NULL;
	for (unsigned v = 0; v < IVSHMEM_MAX_VECTORS; v++) {
		close_fd(&s->to_host[v]);
		close_fd(&s->to_guest[v]);
	}
}

struct vread_ivshmem_control *ivshmem_share_control(const struct ivshmem_share *s)
{
	return (struct vread_ivshmem_control *)s->memory;
}

void ivshmem_share_set_alive(const struct ivshmem_share *s, bool alive)
{
	__atomic_store_n(s->memory + VREAD_PAGE_SIZE + VREAD_RING_ALIVE_OFFSET, alive,
			 __ATOMIC_SEQ_CST);
}

int ivshmem_share_watch(struct ivshmem_share *s, unsigned queues)
{
	for (unsigned q = 0; q < queues; q++) {
		int r = doorbell_watch(s->to_host[VREAD_IVSHMEM_VECTOR_QUEUE(q)]);

		if (r < 0)
			return r;
		s->epoll[q] = r;
	}
	return 0;
}

void ivshmem_share_unwatch(struct ivshmem_share *s)
{
	for (unsigned q = 0; q < VREAD_MAX_QUEUES; q++)
		close_fd(&s->epoll[q]);
}
