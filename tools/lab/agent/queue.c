/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue.c - see queue.h.  Space before `start` is reclaimed when room is short. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

static void make_room(struct queue *q, size_t size)
{
	size_t length = queue_length(q);

	if (q->end + size <= q->capacity)
		return;
	if (length)
		memmove(q->data, q->data + q->start, length);
	q->start = 0;
	q->end = length;
	if (length + size <= q->capacity)
		return;
	q->capacity = 2 * (length + size);
	q->data = realloc(q->data, q->capacity);
	if (!q->data)
		abort();
}

void queue_put(struct queue *q, const void *data, size_t size)
{
	if (!size)
		return;
	make_room(q, size);
	memcpy(q->data + q->end, data, size);
	q->end += size;
}

void queue_drop(struct queue *q, size_t size)
{
	q->start += size;
	if (q->start == q->end)
		q->start = q->end = 0;
}

void queue_free(struct queue *q)
{
	free(q->data);
	*q = (struct queue){0};
}
