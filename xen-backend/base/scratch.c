// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page-aligned buffers per thread; see scratch.h.  Called by disk/, read/ and parser/fs.
 *
 * The buffers are mappings of their own.  free() would leave them to the thread's arena of the
 * allocator, which keeps memory that it has once seen used: 1 MiB per arena and eight arenas per
 * CPU, without a reader.  A page that nobody may touch follows each buffer.
 */
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/scratch.h"

struct scratch {
	void *buf[SCRATCH_KINDS];
	size_t size[SCRATCH_KINDS];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

enum { PAGE = 4096 };

static size_t whole_pages(size_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

static void *map(size_t size)
{
	size_t pages = whole_pages(size);
	uint8_t *buf = mmap(NULL, pages + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		return NULL;
	if (mprotect(buf, pages, PROT_READ | PROT_WRITE)) {
		munmap(buf, pages + PAGE);
		return NULL;
	}
	ASAN_POISON_MEMORY_REGION(buf + size, pages - size);
	return buf;
}

static void unmap(void *buf, size_t size)
{
	if (!buf)
		return;
	ASAN_UNPOISON_MEMORY_REGION(buf, whole_pages(size));
	munmap(buf, whole_pages(size) + PAGE);
}

static void release(void *arg)
{
	struct scratch *s = arg;

	for (int i = 0; i < SCRATCH_KINDS; i++)
		unmap(s->buf[i], s->size[i]);
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
	fresh = map(size);
	if (!fresh)
		return NULL;
	unmap(s->buf[kind], s->size[kind]);
	s->buf[kind] = fresh;
	s->size[kind] = size;
	return fresh;
}
