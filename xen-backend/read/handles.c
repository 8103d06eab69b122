// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements handles.h: a table of open blocks by number. ring/ and peer/answering/ call it.
 *
 * Slots are first taken in order. When all slots have been used, they are taken from a free list,
 * first in, first out. So the 20 bits of the use counter last as long as possible, and a table with
 * few handles takes little memory.
 */
#include "read/handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define SLOT_BITS 12
#define USE_MASK 0xfffffU

struct slot {
	struct handle handle; /* no object: the slot is free */
	uint32_t use;         /* 1 .. USE_MASK; part of the number */
	uint32_t refs;        /* one for being open, one for each handles_get() */
	uint16_t next_free;
	bool open;
};

struct handles {
	handles_close_fn *close;
	struct budget *budget;
	pthread_mutex_t lock;
	struct slot slot[HANDLES_MAX];
	uint16_t first_free, last_free;
	/* number of slots used so far; slots from here on are not on the free list */
	unsigned begun;
	unsigned used;
	unsigned open;
};

_Static_assert(HANDLES_MAX == 1U << SLOT_BITS, "a slot number fills its bits");

struct handles *handles_new(handles_close_fn *close, struct budget *budget)
{
	struct handles *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->close = close;
	t->budget = budget;
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

static void close_handle(const struct handles *t, struct handle h)
{
	if (h.object)
		t->close(h);
}

void handles_free(struct handles *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->begun; i++)
		close_handle(t, t->slot[i].handle);
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

	return s->handle.object && number_of(t, s) == number ? s : NULL;
}

/* The caller has checked that a slot is free. */
static struct slot *take_slot(struct handles *t)
{
	struct slot *s;

	if (t->begun < HANDLES_MAX) {
		s = &t->slot[t->begun++];
		s->use = 1;
	} else {
		s = &t->slot[t->first_free];
		t->first_free = s->next_free;
	}
	return s;
}

int handles_add(struct handles *t, struct handle h, uint32_t *ret_number)
{
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	if (t->used == HANDLES_MAX) {
		pthread_mutex_unlock(&t->lock);
		return -EMFILE;
	}
	s = take_slot(t);
	t->used++;
	t->open++;
	s->handle = h;
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

struct handle handles_get(struct handles *t, uint32_t number)
{
	struct handle h = {0};
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (s && s->open) {
		s->refs++;
		h = s->handle;
	}
	pthread_mutex_unlock(&t->lock);
	return h;
}

static void recycle(struct handles *t, struct slot *s)
{
	uint16_t index = (uint16_t)(s - t->slot);

	s->handle = (struct handle){0};
	s->use = s->use == USE_MASK ? 1 : s->use + 1;
	if (t->used == t->begun)
		t->first_free = index;
	else
		t->slot[t->last_free].next_free = index;
	t->last_free = index;
	t->used--;
}

/* Drops one reference. Returns the object if that was the last reference. */
static struct handle drop(struct handles *t, struct slot *s)
{
	struct handle h = s->handle;

	if (--s->refs)
		return (struct handle){0};
	recycle(t, s);
	return h;
}

void handles_put(struct handles *t, uint32_t number)
{
	struct handle last = {0};
	struct slot *s;

	pthread_mutex_lock(&t->lock);
	s = find(t, number);
	if (s)
		last = drop(t, s);
	pthread_mutex_unlock(&t->lock);
	close_handle(t, last);
}

int handles_remove(struct handles *t, uint32_t number)
{
	struct handle last;
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
	close_handle(t, last);
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

struct budget *handles_budget(struct handles *t)
{
	return t->budget;
}
