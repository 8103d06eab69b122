// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements share.h: creates the memfds, eventfds and epolls of a connection. conn.c calls it.
 */
#include "port/local/share.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/doorbell.h"

static int memory_create(const char *name, size_t bytes, int *ret_fd, uint8_t **ret_memory)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory;
	int r;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		r = -errno;
		close(fd);
		return r;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_memory = memory;
	return 0;
}

static int queue_create(struct share_queue *q)
{
	q->request_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->response_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->request_fd < 0 || q->response_fd < 0)
		return -errno;
	q->epoll_fd = doorbell_watch(q->request_fd);
	return q->epoll_fd < 0 ? q->epoll_fd : 0;
}

static void init_rings(struct share *s, size_t ring_bytes)
{
	for (unsigned i = 0; i < s->num_queues; i++)
		SHARED_RING_INIT((vread_sring_t *)(s->rings + i * ring_bytes));
	s->rings[VREAD_RING_ALIVE_OFFSET] = 1;
}

uint32_t share_pages(const struct vread_local_hello *hello)
{
	return hello->pool_pages + ((uint32_t)hello->num_queues << hello->ring_page_order);
}

/* Rings of a small share, as libvread asks for them. */
#define SMALL_SHARE_RING_PAGES 4U

/* Kept for small shares: pages of so many shares, but at most half of all pages. */
uint32_t share_large_pages(uint32_t max_pages)
{
	const uint32_t wanted =
		VREAD_SMALL_SHARES * (VREAD_SMALL_SHARE_PAGES + SMALL_SHARE_RING_PAGES);

	return max_pages - (wanted < max_pages / 2 ? wanted : max_pages / 2);
}

bool share_is_small(const struct vread_local_hello *hello)
{
	return hello->pool_pages <= VREAD_SMALL_SHARE_PAGES;
}

int share_create(struct share *s, const struct vread_local_hello *hello)
{
	size_t ring_bytes = (size_t)VREAD_PAGE_SIZE << hello->ring_page_order;
	int r;

	*s = (struct share){
		.pool_bytes = (size_t)hello->pool_pages * VREAD_PAGE_SIZE,
		.rings_bytes = hello->num_queues * ring_bytes,
		.pool_fd = -1,
		.rings_fd = -1,
		.num_queues = hello->num_queues,
	};
	for (unsigned i = 0; i < VREAD_MAX_QUEUES; i++)
		s->queue[i] = (struct share_queue){-1, -1, -1};
	r = memory_create("vread-pool", s->pool_bytes, &s->pool_fd, &s->pool);
	if (!r)
		r = memory_create("vread-rings", s->rings_bytes, &s->rings_fd, &s->rings);
	for (unsigned i = 0; !r && i < s->num_queues; i++)
		r = queue_create(&s->queue[i]);
	if (r) {
		share_destroy(s, true);
		return r;
	}
	init_rings(s, ring_bytes);
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void share_close_memory_fds(struct share *s)
{
	close_fd(s->pool_fd);
	close_fd(s->rings_fd);
	s->pool_fd = s->rings_fd = -1;
}

static void memory_destroy(uint8_t *memory, size_t bytes, bool free_pages)
{
	if (memory && free_pages)
		madvise(memory, bytes, MADV_REMOVE);
	if (memory)
		munmap(memory, bytes);
}

void share_destroy(struct share *s, bool free_pages)
{
	memory_destroy(s->pool, s->pool_bytes, free_pages);
	memory_destroy(s->rings, s->rings_bytes, free_pages);
	share_close_memory_fds(s);
	for (unsigned i = 0; i < s->num_queues; i++) {
		close_fd(s->queue[i].epoll_fd);
		close_fd(s->queue[i].request_fd);
		close_fd(s->queue[i].response_fd);
	}
	*s = (struct share){.pool_fd = -1, .rings_fd = -1};
}

unsigned share_fds(const struct share *s, int fds[SHARE_MAX_FDS])
{
	unsigned n = 0;

	fds[n++] = s->pool_fd;
	fds[n++] = s->rings_fd;
	for (unsigned i = 0; i < s->num_queues; i++) {
		fds[n++] = s->queue[i].request_fd;
		fds[n++] = s->queue[i].response_fd;
	}
	return n;
}
