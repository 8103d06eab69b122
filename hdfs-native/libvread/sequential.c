/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements vread_read(), vread_read_to() and vread_seek() of vread.h: a position, and a queue of
 * chunks that are fetched ahead of the position.
 *
 * The queue holds the chunks from the position on, without gaps, in flight or done.  A read takes
 * bytes from the front and keeps the queue filled as far as readahead.h says.  So most small reads
 * are only a copy.
 *
 * Readers of a process share the slice.  A reader fetches ahead into room that is free, or that an
 * idle reader holds.  A reader is idle once the others have read as many bytes as the slice has
 * since it last read.  A reader that has nothing to take, and finds no room, gets the last chunks
 * of other readers.  If it got all chunks of another reader, that reader would soon fetch them
 * again: with three readers in turn, each byte was fetched five times.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cancel.h"
#include "check.h"
#include "clock.h"
#include "connection.h"

#define SMALLEST_CHUNK ((size_t)64 << 10)

static struct engine *engine(struct vread_file *f)
{
	return &f->v->engine;
}

/* ---- the queue ----------------------------------------------------------- */

static struct request *front(struct vread_file *f)
{
	return f->chunks[f->head];
}

static void pop(struct vread_file *f)
{
	struct request *request = front(f);

	f->head = (f->head + 1) % SEQUENTIAL_DEPTH;
	f->count--;
	if (f->copied == request)
		f->copied = NULL;
	engine_release(engine(f), request);
}

static void push(struct vread_file *f, struct request *request, size_t length)
{
	request->op.kind = VREAD_OP_READ;
	request->op.handle = f->handle;
	request->op.offset = f->ahead;
	request->op.length = (uint32_t)length;
	f->chunks[(f->head + f->count) % SEQUENTIAL_DEPTH] = request;
	f->count++;
	f->ahead += length;
	engine_start(engine(f), request);
}

void sequential_drop(struct vread_file *f)
{
	while (f->count)
		pop(f);
	if (f->next) {
		f->prev->next = f->next;
		f->next->prev = f->prev;
		f->next = f->prev = NULL;
	}
}

/* Files are in the order of their last reads, so all files behind one that is not idle are not idle
 * either. */
static bool is_idle(const struct vread_file *f)
{
	return f->v->bytes_read - f->last_read > f->v->engine.transport->slice_bytes;
}

/* Gives back the chunk that its reader would take last.  False: its room is free later, when the
 * backend has answered. */
static bool drop_last(struct vread_file *f)
{
	struct request *last = f->chunks[(f->head + f->count - 1) % SEQUENTIAL_DEPTH];
	bool done = last->state == REQUEST_DONE;

	f->count--;
	f->ahead = last->op.offset;
	if (f->copied == last)
		f->copied = NULL;
	engine_release(engine(f), last);
	return done;
}

bool sequential_reclaim(struct engine *e, bool needed)
{
	struct vread *v = (struct vread *)e; /* its first member */

	for (struct vread_file *f = v->files.next; f != &v->files; f = f->next) {
		if (f->busy)
			continue;
		if (is_idle(f)) {
			sequential_drop(f);
			return true;
		}
		if (!needed)
			return false;
		if (f->count)
			return drop_last(f);
	}
	return false;
}

static bool queued(struct vread_file *f, uint64_t offset)
{
	return f->count && offset >= front(f)->op.offset && offset < f->ahead;
}

static void restart(struct vread_file *f)
{
	while (f->count)
		pop(f);
	f->ahead = f->position;
}

/* Makes the queue start at the position: drops the chunks before it, or all chunks if the
 * position is outside the queue. */
static void align(struct vread_file *f)
{
	if (!queued(f, f->position))
		restart(f);
	while (f->count && front(f)->op.offset + front(f)->op.length <= f->position)
		pop(f);
}

static void set_busy(struct vread_file *f)
{
	struct vread *v = f->v;

	if (f->next) {
		f->prev->next = f->next;
		f->next->prev = f->prev;
	}
	f->next = &v->files;
	f->prev = v->files.prev;
	f->prev->next = f->next->prev = f;
	f->busy = true;
}

static void clear_busy(struct vread_file *f)
{
	f->busy = false;
	f->last_read = f->v->bytes_read;
}

/* ---- fetching ------------------------------------------------------------ */

/* The larger the window, the larger the chunks: the reader is sequential. */
static size_t chunk_limit(const struct vread_file *f, size_t needed)
{
	size_t largest = f->v->chunk_bytes, limit = SMALLEST_CHUNK;

	if (largest <= SMALLEST_CHUNK)
		return largest;
	while (limit * 2 <= largest && limit * 4 < f->readahead.window + needed)
		limit *= 2;
	return limit;
}

/* How far the queue should reach if the reader needs `needed` bytes from the position. */
static uint64_t target(const struct vread_file *f, size_t needed, size_t chunk)
{
	uint64_t until = f->position + needed;

	if (f->readahead.window) {
		until += f->readahead.window;
		until += chunk - 1 - (until - 1) % chunk;
	}
	return until < f->visible_length ? until : f->visible_length;
}

/* Waits for room only with an empty queue; see read.c.  Takes little from other readers then. */
static int fill(struct vread_file *f, size_t needed)
{
	struct engine *e = engine(f);
	size_t chunk = chunk_limit(f, needed);
	uint64_t until = target(f, needed, chunk);
	int r = 0;

	while (f->ahead < until && f->count < SEQUENTIAL_DEPTH) {
		size_t length = readahead_chunk(f->ahead, until, chunk);
		struct request *request;

		if (f->count && f->ahead + length - f->position > e->transport->slice_bytes / 2)
			break;
		r = engine_take_ahead(e, length, &request);
		if (r == -EAGAIN && !f->count) {
			if (length > SMALLEST_CHUNK)
				length = readahead_chunk(f->ahead, until, SMALLEST_CHUNK);
			r = engine_take_wait(e, length, vclock_deadline(f->v->timeout_ms),
					     &request);
		}
		if (r)
			break;
		push(f, request, length);
	}
	engine_flush(e);
	return f->count ? 0 : r;
}

/*
 * How many chunks to wait for at once: all that the caller needs, but at most half of those in
 * flight, or the backend would run out of work meanwhile.
 */
static unsigned batch(struct vread_file *f, size_t needed)
{
	uint64_t end = f->position + needed;
	unsigned flying = 0, wanted = 0;

	for (unsigned i = 0; i < f->count; i++) {
		const struct request *r = f->chunks[(f->head + i) % SEQUENTIAL_DEPTH];

		if (r->state != REQUEST_FLYING)
			continue;
		flying++;
		wanted += r->op.offset < end;
	}
	return wanted < (flying + 1) / 2 ? wanted : (flying + 1) / 2;
}

/* ---- handing over: 0 or negative errno ------------------------------------ */

/* Where the bytes go. */
struct outlet {
	char *buf;        /* NULL: to the sink */
	vread_sink *sink; /* gets the bytes in the slice */
	void *opaque;
};

/* A chunk is checked when the sink gets its first bytes. */
static int show(struct vread_file *f, struct request *request, size_t skip, size_t length,
		struct outlet *to)
{
	const uint8_t *data = engine_data(engine(f), request);
	int r = f->check && !request->checked ? check_bytes(&request->op, data) : 0;

	if (r)
		return r;
	request->checked = true;
	to->sink(to->opaque, data + skip, length);
	return 0;
}

/* Makes f->copy a copy of the chunk, and checks the copy. */
static int copy_chunk(struct vread_file *f, const struct request *request)
{
	int r;

	if (f->copied == request)
		return 0;
	f->copied = NULL;
	if (!f->copy)
		f->copy = malloc(f->v->chunk_bytes);
	if (!f->copy)
		return -ENOMEM;
	memcpy(f->copy, engine_data(engine(f), request), request->op.length);
	r = check_bytes(&request->op, f->copy);
	if (!r)
		f->copied = request;
	return r;
}

/* Bytes are checked where the caller gets them, because the bytes in the slice might change
 * meanwhile.  The CRC32C is that of the whole chunk.  So a chunk that is not copied in one go is
 * first copied to private memory. */
static int copy(struct vread_file *f, const struct request *request, size_t skip, size_t length,
		struct outlet *to)
{
	const uint8_t *data = engine_data(engine(f), request);
	bool whole = length == request->op.length;
	int r = 0;

	if (!f->check || whole)
		memcpy(to->buf, data + skip, length);
	if (f->check && whole)
		r = check_bytes(&request->op, to->buf);
	if (f->check && !whole)
		r = copy_chunk(f, request);
	if (f->check && !whole && !r)
		memcpy(to->buf, f->copy + skip, length);
	to->buf += length;
	return r;
}

/* Hands over bytes of the first chunk, which holds the position.  Waits for the chunk if it is in
 * flight.  Returns the number of bytes or negative errno. */
static ssize_t take(struct vread_file *f, size_t needed, struct outlet *to)
{
	struct engine *e = engine(f);
	struct request *request = front(f);
	const struct op *op = &request->op;
	size_t skip, n;
	int r = 0;

	if (request->state == REQUEST_FLYING)
		r = engine_wait(e, request, batch(f, needed), vclock_deadline(f->v->timeout_ms));
	if (r)
		return r;
	if (op->status < 0)
		return op->status;
	if ((uint32_t)op->status < op->length)
		return -EIO; /* no chunk reaches behind the visible length */
	skip = (size_t)(f->position - op->offset);
	n = op->length - skip < needed ? op->length - skip : needed;
	engine_unlock(e);
	r = to->buf ? copy(f, request, skip, n, to) : show(f, request, skip, n, to);
	engine_lock(e);
	if (r)
		return r;
	f->position += n;
	f->v->bytes_read += n;
	if (skip + n == op->length)
		pop(f);
	return (ssize_t)n;
}

static ssize_t read_on(struct vread_file *f, size_t length, struct outlet *to)
{
	size_t done = 0;
	ssize_t r = 0;

	/* A seek forward within the queue still counts as sequential. */
	if (queued(f, f->position))
		f->readahead.next = f->position;
	readahead_note(&f->readahead, f->position, length);
	align(f);
	while (done < length) {
		r = fill(f, length - done);
		if (!r)
			r = take(f, length - done, to);
		if (r < 0)
			break;
		done += (size_t)r;
	}
	/* Bytes that changed on their way are told at once, or the next call might read them again
	 * and nobody would know. */
	if (r == -EBADE) {
		f->position -= done;
		done = 0;
	}
	if (r < 0)
		restart(f);
	return done ? (ssize_t)done : r;
}

/* ---- API ----------------------------------------------------------------- */

static ssize_t read_into(struct vread_file *f, size_t length, struct outlet *to)
{
	struct vread *v = f->v;
	uint64_t left;
	ssize_t r = 0;

	if (connection_forked(v))
		return -ENOTCONN;
	if (length > SSIZE_MAX)
		length = SSIZE_MAX;
	pthread_mutex_lock(&f->lock);
	left = f->visible_length - f->position;
	if (length > left)
		length = (size_t)left;
	if (length) {
		engine_lock(&v->engine);
		connection_drop_closing(v);
		set_busy(f);
		r = read_on(f, length, to);
		clear_busy(f);
		engine_unlock(&v->engine);
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

ssize_t vread_read_to(struct vread_file *f, size_t length, vread_sink *sink, void *opaque)
{
	NO_CANCEL;
	struct outlet to = {.sink = sink, .opaque = opaque};

	return read_into(f, length, &to);
}

ssize_t vread_read(struct vread_file *f, void *buf, size_t length)
{
	NO_CANCEL;
	struct outlet to = {.buf = buf};

	if (length && !buf)
		return -EINVAL;
	return read_into(f, length, &to);
}

int64_t vread_seek(struct vread_file *f, int64_t offset, int whence)
{
	NO_CANCEL;
	int64_t base, position;

	if (connection_forked(f->v))
		return -ENOTCONN;
	pthread_mutex_lock(&f->lock);
	base = whence == SEEK_CUR   ? (int64_t)f->position
	       : whence == SEEK_END ? (int64_t)f->visible_length
				    : 0;
	if ((whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) ||
	    __builtin_add_overflow(base, offset, &position) || position < 0 ||
	    (uint64_t)position > f->visible_length)
		position = -EINVAL;
	else
		f->position = (uint64_t)position;
	pthread_mutex_unlock(&f->lock);
	return position;
}
