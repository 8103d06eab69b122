/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open_blocks.c - see open_blocks.h. */
#include "peer/answering/open_blocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "read/block.h"

#define SLOT_BITS 12
#define USE_MASK 0xfffffU
#define FIRST_SIZE 16U

_Static_assert(OPEN_BLOCKS_MAX == 1U << SLOT_BITS, "a slot's number fills its bits");

struct slot {
	struct block_handle *block; /* NULL: free */
	uint32_t use;               /* 1 .. USE_MASK; part of the number */
	uint32_t references;        /* one for being open, one for each get */
	bool open;
};

struct open_blocks {
	pthread_mutex_t lock;
	struct slot *slots;
	unsigned size, next, open;
};

struct open_blocks *open_blocks_new(void)
{
	struct open_blocks *b = calloc(1, sizeof(*b));

	if (b)
		pthread_mutex_init(&b->lock, NULL);
	return b;
}

void open_blocks_free(struct open_blocks *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < b->size; i++)
		block_close(b->slots[i].block);
	pthread_mutex_destroy(&b->lock);
	free(b->slots);
	free(b);
}

static int grow(struct open_blocks *b)
{
	unsigned size = b->size ? 2 * b->size : FIRST_SIZE;
	struct slot *grown;

	if (b->size == OPEN_BLOCKS_MAX)
		return -EMFILE;
	grown = reallocarray(b->slots, size, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (unsigned i = b->size; i < size; i++)
		grown[i] = (struct slot){.use = 1};
	b->slots = grown;
	b->next = b->size;
	b->size = size;
	return 0;
}

/* From the one after the last taken on, so that numbers come again late. */
static int find_free(struct open_blocks *b, struct slot **ret)
{
	int r;

	for (unsigned i = 0; i < b->size; i++) {
		struct slot *s = &b->slots[(b->next + i) % b->size];

		if (s->block)
			continue;
		*ret = s;
		return 0;
	}
	r = grow(b);
	if (!r)
		*ret = &b->slots[b->next];
	return r;
}

int open_blocks_add(struct open_blocks *b, struct block_handle *block, uint32_t *ret_number)
{
	struct slot *s;
	int r;

	pthread_mutex_lock(&b->lock);
	r = find_free(b, &s);
	if (!r) {
		*s = (struct slot){block, s->use, 1, true};
		b->next = (unsigned)(s - b->slots) + 1;
		b->open++;
		*ret_number = s->use << SLOT_BITS | (uint32_t)(s - b->slots);
	}
	pthread_mutex_unlock(&b->lock);
	return r;
}

/* With the lock. */
static struct slot *find(struct open_blocks *b, uint32_t number)
{
	uint32_t index = number & (OPEN_BLOCKS_MAX - 1);
	struct slot *s = index < b->size ? &b->slots[index] : NULL;

	return s && s->block && s->use == number >> SLOT_BITS ? s : NULL;
}

/* With the lock: the block, if that was the last reference. */
static struct block_handle *drop(struct slot *s)
{
	struct block_handle *block = s->block;

	if (--s->references)
		return NULL;
	s->block = NULL;
	s->use = s->use == USE_MASK ? 1 : s->use + 1;
	return block;
}

struct block_handle *open_blocks_get(struct open_blocks *b, uint32_t number)
{
	struct block_handle *block = NULL;
	struct slot *s;

	pthread_mutex_lock(&b->lock);
	s = find(b, number);
	if (s && s->open) {
		s->references++;
		block = s->block;
	}
	pthread_mutex_unlock(&b->lock);
	return block;
}

void open_blocks_put(struct open_blocks *b, uint32_t number)
{
	struct block_handle *last = NULL;
	struct slot *s;

	pthread_mutex_lock(&b->lock);
	s = find(b, number);
	if (s)
		last = drop(s);
	pthread_mutex_unlock(&b->lock);
	block_close(last);
}

bool open_blocks_close(struct open_blocks *b, uint32_t number)
{
	struct block_handle *last = NULL;
	struct slot *s;
	bool known;

	pthread_mutex_lock(&b->lock);
	s = find(b, number);
	known = s && s->open;
	if (known) {
		s->open = false;
		b->open--;
		last = drop(s);
	}
	pthread_mutex_unlock(&b->lock);
	block_close(last);
	return known;
}

unsigned open_blocks_count(struct open_blocks *b)
{
	unsigned open;

	pthread_mutex_lock(&b->lock);
	open = b->open;
	pthread_mutex_unlock(&b->lock);
	return open;
}
