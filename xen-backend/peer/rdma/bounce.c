// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/bounce.c - allocates the buffers of rdma/bounce.h, and marks them as taken or free.
 * asker.c and transport.c call it.
 */
#include "peer/rdma/bounce.h"

#include <errno.h>
#include <sys/mman.h>

#define BUFFERS 4
#define BUFFERS_BYTES ((size_t)BUFFERS * VREAD_MAX_READ)

static int make(struct rdma_bounce *b, struct rdma_end *e)
{
	int error;
	void *base = mmap(NULL, BUFFERS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	error = rdma_end_register(e, base, BUFFERS_BYTES, &b->region);
	if (error)
		munmap(base, BUFFERS_BYTES);
	else
		b->base = base;
	return error;
}

int rdma_bounce_take(struct rdma_bounce *b, struct rdma_end *e, uint8_t **ret)
{
	int error = b->region ? 0 : make(b, e);

	if (error)
		return error;
	for (int i = 0; i < BUFFERS; i++) {
		if (b->taken & 1U << i)
			continue;
		b->taken |= 1U << i;
		*ret = rdma_bounce_at(b, i);
		return i;
	}
	return -EAGAIN;
}

void rdma_bounce_give(struct rdma_bounce *b, int number)
{
	b->taken &= ~(1U << number);
}

uint8_t *rdma_bounce_at(const struct rdma_bounce *b, int number)
{
	return b->base + (size_t)number * VREAD_MAX_READ;
}

void rdma_bounce_free(struct rdma_bounce *b)
{
	if (!b->region)
		return;
	munmap(b->base, BUFFERS_BYTES);
	b->region = NULL;
}
