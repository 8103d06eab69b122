// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page-aligned buffers per thread; see scratch.h.  Called by disk/, read/ and parser/fs.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/scratch.h"

struct scratch {
	void *buf[SCRATCH_KINDS];
	size_t size[SCRATCH_KINDS];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

static void release(void *arg)
{
	struct scratch *s = arg;

	for (int i = 0; i < SCRATCH_KINDS; i++)
		free(s->buf[i]);
	free(s);
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, release);
}

static struct scratch *mine(void)
{
	struct scratch *s;

	pthread_once(&once, make_key);
	if (key_error)
		return NULL;
	s = pthread_getspecific(key);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s && pthread_setspecific(key, s)) {
		free(s);
		return NULL;
	}
	return s;
}

void *scratch_get(enum scratch_kind kind, size_t size)
{
	struct scratch *s = mine();
	void *fresh;

	if (!s)
		return NULL;
	if (s->size[kind] >= size)
		return s->buf[kind];
	if (posix_memalign(&fresh, 4096, size))
		return NULL;
	free(s->buf[kind]);
	s->buf[kind] = fresh;
	s->size[kind] = size;
	return fresh;
}
