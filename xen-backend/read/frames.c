// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements frames.h: mappings of 1024 frames each, a list of freed frames that keep their pages,
 * and a list of frames without pages. verified_cache.c calls it.
 *
 * madvise(2) is called without the lock, for a frame that is in no list.
 */
#include "read/frames.h"

#include <pthread.h>
#include <stdlib.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#define CHUNK_FRAMES 1024U
#define CHUNK_BYTES ((size_t)CHUNK_FRAMES * FRAME_BYTES)
#define PAGE 4096U

struct chunk {
	struct chunk *next;
	uint8_t *memory;
	struct frame frames[CHUNK_FRAMES];
};

struct frames {
	pthread_mutex_t lock;
	struct chunk *chunks;
	struct frame *spare, *empty;
	unsigned num_spare;
};

struct frames *frames_new(void)
{
	struct frames *f = calloc(1, sizeof(*f));

	if (f)
		pthread_mutex_init(&f->lock, NULL);
	return f;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	for (struct chunk *c = f->chunks, *next; c; c = next) {
		next = c->next;
		ASAN_UNPOISON_MEMORY_REGION(c->memory, CHUNK_BYTES);
		munmap(c->memory, CHUNK_BYTES);
		free(c);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

size_t frames_weight(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void push(struct frame **list, struct frame *frame)
{
	frame->next = *list;
	*list = frame;
}

static struct frame *pop(struct frame **list)
{
	struct frame *frame = *list;

	if (frame)
		*list = frame->next;
	return frame;
}

/* Called under the lock. Maps more frames. */
static void add_chunk(struct frames *f)
{
	struct chunk *c = malloc(sizeof(*c));

	if (!c)
		return;
	c->memory = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->memory == MAP_FAILED) {
		free(c);
		return;
	}
	/* A huge page would take the memory of 32 frames, and give it back only as a whole. */
	madvise(c->memory, CHUNK_BYTES, MADV_NOHUGEPAGE);
	ASAN_POISON_MEMORY_REGION(c->memory, CHUNK_BYTES);
	c->next = f->chunks;
	f->chunks = c;
	for (unsigned i = CHUNK_FRAMES; i-- > 0;) {
		c->frames[i] = (struct frame){.memory = c->memory + (size_t)i * FRAME_BYTES};
		push(&f->empty, &c->frames[i]);
	}
}

/* Called under the lock. */
static struct frame *take(struct frames *f)
{
	struct frame *frame = pop(&f->spare);

	if (frame) {
		f->num_spare--;
		return frame;
	}
	if (!f->empty)
		add_chunk(f);
	return pop(&f->empty);
}

/* Gives back the pages behind the first `bytes` bytes. */
static void trim(struct frame *frame, size_t bytes)
{
	size_t keep = frames_weight(bytes);

	if (frame->resident <= keep)
		return;
	madvise(frame->memory + keep, frame->resident - keep, MADV_DONTNEED);
	frame->resident = keep;
}

/*
 * Takes pages for the first `bytes` bytes, if there are none. One call costs less than a fault for
 * each page, and a cache that grows takes new pages for all that is read. An older kernel than 5.14
 * refuses, and the pages come by faults.
 */
static void populate(struct frame *frame, size_t bytes)
{
	size_t need = frames_weight(bytes);

	if (frame->resident >= need)
		return;
	madvise(frame->memory + frame->resident, need - frame->resident, MADV_POPULATE_WRITE);
	frame->resident = need;
}

struct frame *frames_get(struct frames *f, size_t bytes)
{
	struct frame *frame;

	pthread_mutex_lock(&f->lock);
	frame = take(f);
	pthread_mutex_unlock(&f->lock);
	if (!frame)
		return NULL;
	trim(frame, bytes);
	populate(frame, bytes);
	ASAN_UNPOISON_MEMORY_REGION(frame->memory, bytes);
	return frame;
}

/* Takes over the frame if one more may keep its pages. */
static struct frame *keep(struct frames *f, struct frame *frame)
{
	pthread_mutex_lock(&f->lock);
	if (f->num_spare < FRAMES_SPARE) {
		f->num_spare++;
		push(&f->spare, frame);
		frame = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	return frame;
}

void frames_put(struct frames *f, struct frame *frame)
{
	ASAN_POISON_MEMORY_REGION(frame->memory, FRAME_BYTES);
	frame = keep(f, frame);
	if (!frame)
		return;
	trim(frame, 0);
	pthread_mutex_lock(&f->lock);
	push(&f->empty, frame);
	pthread_mutex_unlock(&f->lock);
}
