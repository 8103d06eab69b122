/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue.h - bytes that wait until a descriptor or a link takes them. */
#ifndef LAB_QUEUE_H
#define LAB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct queue {
	char *data;
	size_t start, end, capacity;
};

static inline size_t queue_length(const struct queue *q)
{
	return q->end - q->start;
}

static inline const char *queue_head(const struct queue *q)
{
	return q->data + q->start;
}

/* Aborts if there is no memory: an agent cannot go on without it. */
void queue_put(struct queue *q, const void *data, size_t size);
void queue_drop(struct queue *q, size_t size);
void queue_free(struct queue *q);

#endif
