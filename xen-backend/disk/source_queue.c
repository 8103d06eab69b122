// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several reads at a time, with one io_uring per queue; see source_queue.h.  read/ahead_direct.c
 * calls it.
 *
 * A queue is never freed before all its reads have ended, because until then the kernel writes to
 * their memory.
 */
#include "disk/source_queue.h"

#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/waiting.h"
#include "disk/source_impl.h"

struct read {
	void *tag;
	uint32_t length;
	bool used;
};

struct source_queue {
	struct io_uring ring;
	unsigned depth, under_way;
	struct read reads[];
};

static atomic_int refused; /* errno of the last attempt; 0: success, or no attempt yet */

bool source_queue_works(const char **ret_why)
{
	int error = atomic_load(&refused);

	if (error && ret_why)
		*ret_why = strerrordesc_np(error);
	return error == 0;
}

static void note_refusal(int error)
{
	if (atomic_exchange(&refused, error) == 0)
		log_warn("io_uring is not available (%s): images read with O_DIRECT are read one "
			 "request at a time, without read-ahead",
			 strerrordesc_np(error));
}

size_t source_queue_weight(unsigned depth)
{
	size_t rings = depth * (sizeof(struct io_uring_sqe) + 2 * sizeof(struct io_uring_cqe));

	return sizeof(struct source_queue) + depth * sizeof(struct read) + rings;
}

struct source_queue *source_queue_new(unsigned depth)
{
	struct source_queue *q = calloc(1, sizeof(*q) + depth * sizeof(q->reads[0]));
	int r;

	if (!q)
		return NULL;
	q->depth = depth;
	r = io_uring_queue_init(depth, &q->ring, 0);
	if (r < 0) {
		note_refusal(-r);
		free(q);
		return NULL;
	}
	atomic_store(&refused, 0);
	return q;
}

void source_queue_free(struct source_queue *q)
{
	int error;

	if (!q)
		return;
	while (q->under_way > 0)
		if (!source_queue_ended(q, &error)) {
			source_queue_start(q);
			source_queue_await(q);
		}
	io_uring_queue_exit(&q->ring);
	free(q);
}

static struct read *free_read(struct source_queue *q)
{
	for (unsigned i = 0; i < q->depth; i++)
		if (!q->reads[i].used)
			return &q->reads[i];
	return NULL;
}

static bool is_aligned(const struct source *s, uint64_t offset, const void *buf, size_t length)
{
	uint64_t mask = SOURCE_QUEUE_ALIGN - 1;

	return s->align <= SOURCE_QUEUE_ALIGN && !((offset | length | (uintptr_t)buf) & mask);
}

int source_queue_add(struct source_queue *q, struct source *s, uint64_t offset, void *buf,
		     size_t length, void *tag)
{
	struct io_uring_sqe *sqe;
	struct read *read;

	if (!s->direct || !is_aligned(s, offset, buf, length) || length > INT32_MAX)
		return -EINVAL;
	if (offset > s->size || length > s->size - offset)
		return -EIO;
	read = free_read(q);
	sqe = read ? io_uring_get_sqe(&q->ring) : NULL;
	if (!sqe)
		return -EAGAIN;
	io_uring_prep_read(sqe, s->fd, buf, (unsigned)length, offset);
	io_uring_sqe_set_data(sqe, read);
	*read = (struct read){tag, (uint32_t)length, true};
	q->under_way++;
	return 0;
}

int source_queue_start(struct source_queue *q)
{
	int r = io_uring_submit(&q->ring);

	return r < 0 ? r : 0;
}

void *source_queue_ended(struct source_queue *q, int *ret_error)
{
	struct io_uring_cqe *cqe;
	struct read *read;

	if (q->under_way == 0 || io_uring_peek_cqe(&q->ring, &cqe) < 0)
		return NULL;
	read = io_uring_cqe_get_data(cqe);
	*ret_error = cqe->res == (int32_t)read->length ? 0 : -EIO;
	io_uring_cqe_seen(&q->ring, cqe);
	read->used = false;
	q->under_way--;
	return read->tag;
}

void source_queue_await(struct source_queue *q)
{
	struct io_uring_cqe *cqe;

	if (io_uring_peek_cqe(&q->ring, &cqe) == 0)
		return;
	waiting_announce();
	while (io_uring_wait_cqe(&q->ring, &cqe) < 0)
		;
}
