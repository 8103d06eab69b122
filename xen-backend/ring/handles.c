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

#include "read/block.h"
#include "peer/peer.h"

#define SLOT_BITS 12
#define USE_MASK 0xfffffU

struct slot {
	struct open_block block; /* none: free */
	uint32_t use;            /* 1 .. USE_MASK; part of the number */
	uint32_t refs;           /* one for being open, one for each get */
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

static bool is_any(struct open_block b)
{
	return b.here || b.there;
}

/* None is ignored. */
static void close_block(struct open_block b)
{
	if (b.here)
		block_close(b.here);
	if (b.there)
		peer_close(b.there);
}

void handles_free(struct handles *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		close_block(t->slot[i].block);
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

	return is_any(s->block) && number_of(t, s) == number ? s : NULL;
}

int handles_add(struct handles *t, struct open_block b, uint32_t *ret_number)
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

struct open_block handles_get(struct handles *t, uint32_t number)
{
	struct open_block b = {0};
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

	s->block = (struct open_block){0};
	s->use = s->use == USE_MASK ? 1 : s->use + 1;
	if (t->used == HANDLES_MAX)
		t->first_free = index;
	else
		t->slot[t->last_free].next_free = index;
	t->last_free = index;
	t->used--;
}

/* Drops one reference; returns the block if that was the last. */
static struct open_block drop(struct handles *t, struct slot *s)
{
	struct open_block b = s->block;

	if (--s->refs)
		return (struct open_block){0};
	recycle(t, s);
	return b;
}

void handles_put(struct handles *t, uint32_t number)
{
	struct open_block last = {0};
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (s)
		last = drop(t, s);
	pthread_mutex_unlock(&t->lock);
	close_block(last);
}

int handles_remove(struct handles *t, uint32_t number)
{
	struct open_block last;
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
	close_block(last);
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
