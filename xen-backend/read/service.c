// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements service.h: the steps of a request about a block, by block.h and handles.h.
 */
#include "read/service.h"

#include <errno.h>

#include "base/trace.h"
#include "read/block.h"

void reader_close(struct handle h)
{
	block_close(h.object);
}

void reading_begin(struct reading *g, const struct reader *r, uint32_t number)
{
	*g = (struct reading){
		.reader = r,
		.handle = handles_get(r->handles, number),
		.number = number,
	};
}

/* Finds the block and opens it. */
static int find(const struct reader *r, struct block_name *name, struct block_handle **ret,
		struct block_info *ret_info)
{
	uint64_t mark = trace_mark();
	int err;

	name->client = r->client;
	name->party = r->party;
	name->budget = handles_budget(r->handles);
	err = block_open(r->store, r->policy, name, ret, ret_info);
	trace_stage(TRACE_FIND, mark);
	return err;
}

int reading_open(struct reading *g, const struct reader *r, struct block_name *name,
		 struct block_info *ret_info)
{
	struct block_handle *block;
	uint32_t number;
	int err = handles_room(r->handles);

	*g = (struct reading){.reader = r};
	if (!err)
		err = find(r, name, &block, ret_info);
	if (err)
		return err;
	err = handles_add(r->handles, (struct handle){block, HANDLE_BLOCK}, &number);
	if (err) {
		block_close(block);
		return err;
	}
	reading_begin(g, r, number);
	g->opens = true;
	return 0;
}

ssize_t reading_read(struct reading *g, uint64_t offset, void *dst, uint32_t length,
		     uint32_t *ret_crc32c)
{
	if (!g->handle.object)
		return -EBADF;
	return block_read(g->handle.object, offset, dst, length, ret_crc32c);
}

int reading_stat(struct reading *g, struct block_info *ret_info)
{
	return g->handle.object ? block_stat(g->handle.object, ret_info) : -EBADF;
}

int reading_seal(struct reading *g)
{
	bool granted;

	if (!g->handle.object)
		return 0;
	granted = g->opens || block_is_granted(g->handle.object); /* an OPEN was judged just now */
	g->sealed = true;
	if (block_hold(g->handle.object, g->reader->policy) && granted)
		return 0;
	if (!g->opens)
		return -EAGAIN;
	handles_remove(g->reader->handles, g->number);
	return -ENOENT;
}

void reading_unseal(struct reading *g)
{
	if (g->sealed)
		block_release(g->handle.object);
	g->sealed = false;
}

void reading_end(struct reading *g)
{
	if (!g->handle.object)
		return;
	reading_unseal(g);
	handles_put(g->reader->handles, g->number);
	g->handle.object = NULL;
}
