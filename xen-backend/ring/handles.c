/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handles.c - see handles.h.
 *
 * Slots are taken from a free list in first-in first-out order, which makes
 * the 20 bits of the use counter last as long as they can.
 */
#include "ring/handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "block/block.h"

#define SLOT_BITS 12
#define USE_MASK 0xfffffU

struct slot {
	struct block_handle *block; /* NULL: free */
	uint32_t use;               /* 1 .. USE_MASK; part of the number */
	uint32_t refs;              /* one for being open, one for each get */
	uint16_t next_free;
	bool open;
};

struct handles {
	pthread_mutex_t lock;
	struct slot slot[HANDLES_MAX];
	uint16_t first_free, last_free;
	unsigned used; /* slots not on the free list */
	unsigned open;
};

_Static_assert(HANDLES_MAX == 1U << SLOT_BITS, "a slot number fills its bits");

struct handles *handles_new(void)
{
	struct handles *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		t->slot[i].use = 1;
		t->slot[i].next_free = (uint16_t)(i + 1);
	}
	t->last_free = HANDLES_MAX - 1;
	return t;
}

void handles_free(struct handles *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (t->slot[i].block)
			block_close(t->slot[i].block);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static uint32_t number_of(const struct handles *t, const struct slot *s)
{
	return s->use << SLOT_BITS | (uint32_t)(s - t->slot);
}

static struct slot *find(struct handles *t, uint32_t number)
{
	struct slot *s = &t->slot[number & (HANDLES_MAX - 1)];

	return s->block && number_of(t, s) == number ? s : NULL;
}

int handles_add(struct handles *t, struct block_handle *b, uint32_t *ret_number)
{
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	if (t->used == HANDLES_MAX) {
		pthread_mutex_unlock(&t->lock);
		return -EMFILE;
	}
	s = &t->slot[t->first_free];
	t->first_free = s->next_free;
	t->used++;
	t->open++;
	s->block = b;
	s->refs = 1;
	s->open = true;
	*ret_number = number_of(t, s);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int handles_room(struct handles *t)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = t->used == HANDLES_MAX ? -EMFILE : 0;
	pthread_mutex_unlock(&t->lock);
	return r;
}

struct block_handle *handles_get(struct handles *t, uint32_t number)
{
	struct block_handle *b = NULL;
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (s && s->open) {
		s->refs++;
		b = s->block;
	}
	pthread_mutex_unlock(&t->lock);
	return b;
}

static void recycle(struct handles *t, struct slot *s)
{
	uint16_t index = (uint16_t)(s - t->slot);

	s->block = NULL;
	s->use = s->use == USE_MASK ? 1 : s->use + 1;
	if (t->used == HANDLES_MAX)
		t->first_free = index;
	else
		t->slot[t->last_free].next_free = index;
	t->last_free = index;
	t->used--;
}

/* Drops one reference; returns the block if that was the last. */
static struct block_handle *drop(struct handles *t, struct slot *s)
{
	struct block_handle *b = s->block;

	if (--s->refs)
		return NULL;
	recycle(t, s);
	return b;
}

void handles_put(struct handles *t, uint32_t number)
{
	struct block_handle *last = NULL;
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (s)
		last = drop(t, s);
	pthread_mutex_unlock(&t->lock);
	if (last)
		block_close(last);
}

int handles_remove(struct handles *t, uint32_t number)
{
	struct block_handle *last;
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (!s || !s->open) {
		pthread_mutex_unlock(&t->lock);
		return -EBADF;
	}
	s->open = false;
	t->open--;
	last = drop(t, s);
	pthread_mutex_unlock(&t->lock);
	if (last)
		block_close(last);
	return 0;
}

unsigned handles_count(struct handles *t)
{
	unsigned n;

	pthread_mutex_lock(&t->lock);
	n = t->open;
	pthread_mutex_unlock(&t->lock);
	return n;
}
