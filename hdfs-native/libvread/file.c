/* SPDX-License-Identifier: Apache-2.0 */
/* Implements vread_open_sized(), vread_ping(), vread_close(), vread_stat_sized() and
 * vread_update() of vread.h. */
#include <errno.h>
#include <stdlib.h>

#include "cancel.h"
#include "connection.h"
#include "open_data.h"
#include "sized.h"

static void drop_handle(struct vread *v, struct vread_file *f)
{
	engine_lock(&v->engine);
	f->next_closing = v->closing;
	v->closing = f;
	connection_drop_closing(v);
	engine_unlock(&v->engine);
}

/* The replica that the backend opened must be the one that was asked for. */
static int check_replica(const struct vread_file *f, const struct vread_block *block)
{
	if (f->length > INT64_MAX)
		return -EIO;
	if (f->length < f->visible_length)
		return -ERANGE;
	return f->genstamp == block->generation_stamp ? 0 : -EEXIST;
}

int vread_open_sized(struct vread *v, const struct vread_block *block, size_t size,
		     struct vread_file **ret)
{
	NO_CANCEL;
	uint8_t data[VREAD_MAX_OPEN_DATA];
	struct op op = {.kind = VREAD_OP_OPEN, .data = data};
	struct vread_block b;
	struct vread_file *f;
	int r;

	if (connection_forked(v))
		return -ENOTCONN;
	r = sized_block(&b, block, size) ?: open_data_encode(&b, data);
	if (r < 0)
		return r;
	op.block_id = b.block_id;
	op.genstamp = b.generation_stamp;
	op.visible_length = b.visible_length;
	op.data_length = (uint32_t)r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	r = connection_execute(v, &op);
	if (r) {
		free(f);
		return r;
	}
	f->v = v;
	f->handle = op.handle;
	f->flags = op.flags;
	f->genstamp = op.block_genstamp;
	f->length = op.block_length;
	f->visible_length = b.visible_length ?: op.block_length;
	f->check = op.flags & VREAD_BLOCK_REMOTE;
	r = check_replica(f, &b);
	if (r) {
		drop_handle(v, f);
		return r;
	}
	pthread_mutex_init(&f->lock, NULL);
	readahead_init(&f->readahead, v->readahead_bytes);
	*ret = f;
	return 0;
}

int vread_ping(struct vread *v)
{
	NO_CANCEL;
	const struct vread_block nothing = {.pool_id = VREAD_NO_POOL};
	struct vread_file *f;
	int r = vread_open(v, &nothing, &f);

	if (!r)
		vread_close(f);
	return r == -ETIME || r == -EINTR || r == -ENOTCONN || r == -ENOMEM ? r : 0;
}

/* Releases the asynchronous reads of f that were not reaped: they point to f, which is freed. */
static void forget_async(struct vread_file *f)
{
	struct engine *e = &f->v->engine;

	for (unsigned i = 0; i < e->transport->max_ops; i++) {
		struct request *r = &e->requests[i];
		if (r->state != REQUEST_FREE && r->async && r->file == f && !r->delivered)
			engine_release(e, r);
	}
}

void vread_close(struct vread_file *f)
{
	NO_CANCEL;
	struct vread *v;

	if (!f)
		return;
	v = f->v;
	if (connection_forked(v)) {
		free(f->copy);
		free(f); /* the handle and the lock belong to the parent process */
		return;
	}
	pthread_mutex_destroy(&f->lock);
	engine_lock(&v->engine);
	sequential_drop(f);
	forget_async(f);
	engine_unlock(&v->engine);
	free(f->copy);
	drop_handle(v, f);
}

int vread_stat_sized(struct vread_file *f, struct vread_stat *ret, size_t size)
{
	NO_CANCEL;
	struct vread_stat stat;

	if (connection_forked(f->v))
		return -ENOTCONN;
	engine_lock(&f->v->engine);
	stat = (struct vread_stat){
		.length = f->length,
		.visible_length = f->visible_length,
		.generation_stamp = f->genstamp,
		.flags = f->flags,
	};
	engine_unlock(&f->v->engine);
	return sized_stat(ret, size, &stat);
}

int vread_update(struct vread_file *f)
{
	NO_CANCEL;
	struct op op = {.kind = VREAD_OP_STAT, .handle = f->handle};
	int r;

	if (connection_forked(f->v))
		return -ENOTCONN;
	r = connection_execute(f->v, &op);
	if (r)
		return r;
	if (op.block_genstamp != f->genstamp || op.block_length < f->visible_length)
		return -EAGAIN;
	engine_lock(&f->v->engine);
	f->length = op.block_length;
	f->flags = op.flags;
	engine_unlock(&f->v->engine);
	return 0;
}
