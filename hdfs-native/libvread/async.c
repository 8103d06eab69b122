/* SPDX-License-Identifier: Apache-2.0 */
/* Implements vread_submit(), vread_reap() and vread_release() of vread.h: asynchronous reads whose
 * bytes stay in the slice. */
#include <errno.h>

#include "cancel.h"
#include "check.h"
#include "clock.h"
#include "connection.h"

int vread_submit(struct vread_file *f, uint64_t offset, size_t length, void *cookie)
{
	NO_CANCEL;
	struct engine *e = &f->v->engine;
	struct request *request;
	int r;

	if (connection_forked(f->v))
		return -ENOTCONN;
	if (!length || length > VREAD_MAX_READ)
		return -EINVAL;
	engine_lock(e);
	connection_drop_closing(f->v);
	r = engine_take(e, length, &request);
	if (!r) {
		request->op.kind = VREAD_OP_READ;
		request->op.handle = f->handle;
		request->op.offset = offset;
		request->op.length = (uint32_t)length;
		request->async = true;
		request->file = f;
		request->cookie = cookie;
		request->check = f->check;
		engine_start(e, request);
		engine_flush(e);
	}
	engine_unlock(e);
	return r;
}

/* Names one use of a request, so that a second release of the completion does nothing. */
static uint64_t slot_of(const struct engine *e, const struct request *r)
{
	return (uint64_t)r->generation << 32 | (uint32_t)(r - e->requests);
}

static struct request *request_of(struct engine *e, uint64_t slot)
{
	uint32_t index = (uint32_t)slot;
	struct request *r = &e->requests[index % TRANSPORT_MAX_OPS];

	if (index >= TRANSPORT_MAX_OPS || r->generation != slot >> 32 || !r->async || !r->delivered)
		return NULL;
	return r;
}

/* A read may be short only at the visible length.  Any other number of bytes is an error. */
static ssize_t checked_result(const struct request *r)
{
	uint64_t end = r->file->visible_length;
	uint64_t left = r->op.offset < end ? end - r->op.offset : 0;
	uint64_t expected = r->op.length < left ? r->op.length : left;

	if (r->op.status >= 0 && (uint64_t)r->op.status != expected)
		return -EIO;
	return r->op.status;
}

static void describe(const struct engine *e, const struct request *r, struct vread_completion *ret)
{
	ssize_t result = checked_result(r);

	*ret = (struct vread_completion){
		.file = r->file,
		.offset = r->op.offset,
		.cookie = r->cookie,
		.result = result,
		.data = result > 0 ? engine_data(e, r) : NULL,
		.slot = slot_of(e, r),
	};
}

/* Compares the bytes of completions that the caller has not got yet.  So nobody releases their
 * requests meanwhile. */
static void check(struct engine *e, struct vread_completion *completions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct vread_completion *c = &completions[i];
		const struct request *r = &e->requests[(uint32_t)c->slot];

		if (c->result <= 0 || !r->check || !check_bytes(&r->op, c->data))
			continue;
		c->result = -EBADE;
		c->data = NULL;
	}
}

int vread_reap(struct vread *v, struct vread_completion *completions, size_t count,
	       unsigned timeout_ms)
{
	NO_CANCEL;
	struct engine *e = &v->engine;
	const uint64_t deadline = vclock_deadline(timeout_ms);
	struct request *request;
	size_t n = 0;
	bool gone;

	if (connection_forked(v))
		return -ENOTCONN;
	if (!count)
		return 0;
	if (count > INT32_MAX)
		count = INT32_MAX;
	engine_lock(e);
	connection_drop_closing(v);
	engine_wait_async(e, deadline);
	while (n < count && (request = engine_next_async(e)))
		describe(e, request, &completions[n++]);
	gone = !n && e->lost;
	engine_rest(e, gone);
	engine_unlock(e);
	check(e, completions, n);
	return gone ? -ENOTCONN : (int)n;
}

void vread_release(struct vread *v, const struct vread_completion *completion)
{
	NO_CANCEL;
	struct engine *e = &v->engine;
	struct request *request;

	if (connection_forked(v))
		return;
	engine_lock(e);
	request = request_of(e, completion->slot);
	if (request)
		engine_release(e, request);
	engine_unlock(e);
}
