/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements vread_pread(), vread_pread_to() and vread_preadv() of vread.h.
 *
 * All ranges of a call are cut into pieces.  Several pieces are kept in flight, and the oldest is
 * waited for first.  While a piece is copied out of the slice, the backend works on the next.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cancel.h"
#include "check.h"
#include "clock.h"
#include "connection.h"

#define PIPELINE 16U /* pieces of one call in flight */

struct piece {
	struct request *request;
	size_t range;
	char *dst;
};

struct pipeline {
	struct vread_file *file;
	struct vread_range *ranges;
	size_t count;
	vread_sink *
		sink; /* takes the bytes of the one range; NULL: they go into the ranges' buffers */
	void *opaque;
	size_t next_range;  /* the range that the next piece is cut from */
	uint64_t next_done; /* bytes of next_range that were requested */
	struct piece pieces[PIPELINE];
	unsigned head, in_flight;
	size_t bytes_in_flight;
};

/* Bytes of a range that can be read: those before the visible length. */
static uint64_t expected(const struct vread_file *f, const struct vread_range *range)
{
	uint64_t end = f->visible_length;

	if (range->offset >= end)
		return 0;
	return range->length < end - range->offset ? range->length : end - range->offset;
}

/* Bytes of the next range not requested yet.  Of a range that failed, no more are requested. */
static uint64_t remaining(const struct pipeline *p)
{
	const struct vread_range *range = &p->ranges[p->next_range];

	return range->result < 0 ? 0 : expected(p->file, range) - p->next_done;
}

/* About a quarter of the range: enough pieces to overlap, and few enough to be cheap.  A short
 * range is one piece: a second worker of the backend would be woken for less than that costs. */
static size_t piece_limit(const struct pipeline *p, uint64_t length)
{
	const size_t granule = 64 << 10, largest = p->file->v->chunk_bytes;
	uint64_t quarter = (length / 4 + granule - 1) / granule * granule;

	if (largest <= granule || quarter >= largest || length <= 2 * granule)
		return largest;
	return quarter < granule ? granule : (size_t)quarter;
}

static void start_piece(struct pipeline *p, struct request *request, size_t length)
{
	const struct vread_range *range = &p->ranges[p->next_range];
	struct piece *piece = &p->pieces[(p->head + p->in_flight) % PIPELINE];

	request->op.kind = VREAD_OP_READ;
	request->op.handle = p->file->handle;
	request->op.offset = range->offset + p->next_done;
	request->op.length = (uint32_t)length;
	*piece = (struct piece){request, p->next_range, NULL};
	if (range->buf)
		piece->dst = (char *)range->buf + p->next_done;
	p->next_done += length;
	p->in_flight++;
	p->bytes_in_flight += length;
	engine_start(&p->file->v->engine, request);
}

/*
 * Keeps the pipeline full.  Waits for room only if nothing is in flight: two callers that hold
 * room and wait for more could wait for each other for ever.
 */
static int fill(struct pipeline *p)
{
	struct vread *v = p->file->v;
	const size_t share = v->engine.transport->slice_bytes / 2;
	int r = 0;

	while (p->next_range < p->count && p->in_flight < PIPELINE) {
		uint64_t left = remaining(p);
		struct request *request;
		size_t length;

		if (!left) {
			p->next_range++;
			p->next_done = 0;
			continue;
		}
		if (p->in_flight && p->bytes_in_flight >= share)
			break;
		length = readahead_chunk(p->ranges[p->next_range].offset + p->next_done,
					 p->ranges[p->next_range].offset + p->next_done + left,
					 piece_limit(p, p->ranges[p->next_range].length));
		if (p->in_flight)
			r = engine_take(&v->engine, length, &request);
		else
			r = engine_take_wait(&v->engine, length, vclock_deadline(v->timeout_ms),
					     &request);
		if (r)
			break;
		start_piece(p, request, length);
	}
	engine_flush(&v->engine);
	return p->in_flight ? 0 : r;
}

/* Copies the bytes of a piece, or shows them to the sink.  A copy is checked after it was made: the
 * bytes in the slice might change meanwhile.  0 or -EBADE. */
static int hand_over(struct pipeline *p, const struct piece *piece)
{
	const struct request *request = piece->request;
	const size_t length = request->op.length;
	const void *data = engine_data(&p->file->v->engine, request);
	int r;

	if (!p->sink)
		data = memcpy(piece->dst, data, length);
	r = p->file->check ? check_bytes(&request->op, data) : 0;
	if (!r && p->sink)
		p->sink(p->opaque, data, length);
	return r;
}

/* Waits for the oldest piece and hands its bytes over.  Returns 0, or an error that ends the
 * call. */
static int drain(struct pipeline *p)
{
	struct vread *v = p->file->v;
	struct piece *piece = &p->pieces[p->head];
	struct request *request = piece->request;
	struct vread_range *range = &p->ranges[piece->range];
	int r = engine_wait(&v->engine, request, (p->in_flight + 1) / 2,
			    vclock_deadline(v->timeout_ms));

	if (r)
		return r;
	r = request->op.status;
	if (r >= 0 && (uint32_t)r < request->op.length)
		r = -EIO; /* no piece reaches behind the visible length */
	if (r >= 0 && range->result >= 0) {
		engine_unlock(&v->engine);
		r = hand_over(p, piece);
		engine_lock(&v->engine);
	}
	if (range->result >= 0)
		range->result = r < 0 ? r : range->result + request->op.length;
	p->bytes_in_flight -= request->op.length;
	p->head = (p->head + 1) % PIPELINE;
	p->in_flight--;
	engine_release(&v->engine, request);
	return r == -ENOTCONN ? r : 0;
}

/* Releases the pieces in flight.  Each range that is not complete gets the error that ended the
 * call. */
static void abandon(struct pipeline *p, int error)
{
	for (; p->in_flight; p->in_flight--) {
		engine_release(&p->file->v->engine, p->pieces[p->head].request);
		p->head = (p->head + 1) % PIPELINE;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct vread_range *range = &p->ranges[i];

		if (range->result >= 0 && (uint64_t)range->result < expected(p->file, range))
			range->result = error;
	}
}

static int run(struct pipeline *p)
{
	struct vread *v = p->file->v;
	int r;

	for (size_t i = 0; i < p->count; i++)
		p->ranges[i].result = 0;
	engine_lock(&v->engine);
	connection_drop_closing(v);
	/* fill() returns 0 with nothing in flight only when all ranges are done. */
	while (!(r = fill(p)) && p->in_flight && !(r = drain(p)))
		;
	if (r)
		abandon(p, r);
	engine_unlock(&v->engine);
	for (size_t i = 0; i < p->count; i++)
		if (p->ranges[i].result < 0)
			return (int)p->ranges[i].result;
	return 0;
}

int vread_preadv(struct vread_file *f, struct vread_range *ranges, size_t count)
{
	NO_CANCEL;
	struct pipeline p = {.file = f, .ranges = ranges, .count = count};

	if (connection_forked(f->v))
		return -ENOTCONN;
	for (size_t i = 0; i < count; i++)
		if (ranges[i].length > SSIZE_MAX || (ranges[i].length && !ranges[i].buf))
			return -EINVAL;
	return run(&p);
}

ssize_t vread_pread_to(struct vread_file *f, size_t length, uint64_t offset, vread_sink *sink,
		       void *opaque)
{
	NO_CANCEL;
	struct vread_range range = {
		.offset = offset,
		.length = length > SSIZE_MAX ? SSIZE_MAX : length,
	};
	struct pipeline p = {
		.file = f,
		.ranges = &range,
		.count = 1,
		.sink = sink,
		.opaque = opaque,
	};

	if (connection_forked(f->v))
		return -ENOTCONN;
	return run(&p) ?: range.result;
}

ssize_t vread_pread(struct vread_file *f, void *buf, size_t length, uint64_t offset)
{
	NO_CANCEL;
	struct vread_range range = {
		.offset = offset,
		.length = length > SSIZE_MAX ? SSIZE_MAX : length,
		.buf = buf,
	};
	int r = vread_preadv(f, &range, 1);

	return r ?: range.result;
}
