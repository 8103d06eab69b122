// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps bases of answers and compares their watched bytes. client.c and read/ call it; basis.h
 * and parser.h describe the functions.
 */
#include "datanode/basis.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A later answer may be that many times as large as the first. */
#define GROWTH 2U

struct parser_basis {
	bool clean;
	size_t weight;
	pthread_mutex_t lock; /* guards the pointer state; held only to copy or change it */
	struct basis_state *state;
};

struct basis_state *basis_state_new(const struct answer_basis *answer, uint64_t changes)
{
	size_t bytes = answer->packed_length;
	struct basis_state *s;
	uint8_t *to;

	for (unsigned i = 0; i < answer->num_watched; i++)
		bytes += answer->watched[i].length;
	s = malloc(sizeof(*s) + bytes);
	if (!s)
		return NULL;
	atomic_init(&s->references, 1);
	s->changes = changes;
	s->weight = sizeof(*s) + bytes;
	s->answer = *answer;
	to = s->bytes;
	for (unsigned i = 0; i < answer->num_watched; i++) {
		s->answer.watched[i].bytes = to;
		to = (uint8_t *)mempcpy(to, answer->watched[i].bytes, answer->watched[i].length);
	}
	s->answer.packed = to;
	if (answer->packed_length)
		memcpy(to, answer->packed, answer->packed_length);
	return s;
}

void basis_state_put(struct basis_state *s)
{
	if (s && atomic_fetch_sub(&s->references, 1) == 1)
		free(s);
}

struct parser_basis *basis_new(struct basis_state *s)
{
	struct parser_basis *b = s ? calloc(1, sizeof(*b)) : NULL;

	if (!b) {
		basis_state_put(s);
		return NULL;
	}
	b->clean = s->answer.clean;
	b->weight = sizeof(*b) + GROWTH * s->weight;
	pthread_mutex_init(&b->lock, NULL);
	b->state = s;
	return b;
}

struct basis_state *basis_get(struct parser_basis *b)
{
	struct basis_state *s;

	pthread_mutex_lock(&b->lock);
	s = b->state;
	atomic_fetch_add(&s->references, 1);
	pthread_mutex_unlock(&b->lock);
	return s;
}

bool basis_replace(struct parser_basis *b, struct basis_state *s)
{
	struct basis_state *old;

	if (s->weight > b->weight - sizeof(*b)) {
		basis_state_put(s);
		return false;
	}
	pthread_mutex_lock(&b->lock);
	old = b->state;
	b->state = s;
	pthread_mutex_unlock(&b->lock);
	basis_state_put(old);
	return true;
}

void parser_basis_free(struct parser_basis *b)
{
	if (!b)
		return;
	basis_state_put(b->state);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

bool parser_basis_is_clean(const struct parser_basis *b)
{
	return b->clean;
}

/* The weight is fixed when the basis is made: caches and budgets add it and subtract it later, so
 * it must not change in between. It is the most that the basis may ever take. */
size_t parser_basis_weight(const struct parser_basis *b)
{
	return b->weight;
}

int basis_compare(struct volume *volume, const struct basis_state *s)
{
	const struct answer_basis *a = &s->answer;
	uint8_t now[FS_SUPER_BYTES];
	uint64_t changes;
	int r = 0;

	if (a->num_watched == 0)
		return -EAGAIN;
	if (a->clean) {
		r = volume_changes(volume, &changes);
		if (r == 0 && changes != s->changes)
			r = -EAGAIN;
	}
	for (unsigned i = 0; i < a->num_watched && r == 0; i++) {
		r = volume_read(volume, a->watched[i].offset, now, a->watched[i].length);
		if (r == 0 && memcmp(now, a->watched[i].bytes, a->watched[i].length) != 0)
			r = -EAGAIN;
	}
	return r;
}

static bool settled(struct answer_unsettled u, uint64_t offset, uint64_t length)
{
	return offset >= u.end || offset + length <= u.start;
}

bool parser_data_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	struct basis_state *s = basis_get(b);
	bool is = settled(s->answer.data, offset, length);

	basis_state_put(s);
	return is;
}

bool parser_meta_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	struct basis_state *s = basis_get(b);
	bool is = settled(s->answer.meta, offset, length);

	basis_state_put(s);
	return is;
}
