/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dispatch.c - see dispatch.h.
 *
 * The pool is shared with the frontend and may change at any time: OPEN's
 * data is copied out of it once and only the copy is looked at; READ only
 * writes to it.
 */
#include "ring/dispatch.h"

#include <errno.h>

#include "block/block.h"
#include "ring/handles.h"
#include "ring/validate.h"

static uint8_t *pool_range(const struct dispatch *d, const struct vread_request *r)
{
	return d->conn->pool + (size_t)r->pool_page * VREAD_PAGE_SIZE;
}

static void fill_block(struct vread_response *response, const struct block_info *info)
{
	response->flags = info->flags;
	response->u.block.length = info->length;
	response->u.block.genstamp = info->genstamp;
}

static int do_open(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	struct open_data *data = &scratch->data;
	struct block_name name = {
		.pool_id = data->pool_id,
		.block_id = r->u.open.block_id,
		.genstamp = r->u.open.genstamp,
		.visible_length = r->u.open.visible_length,
		.storage_ids = data->storage_ids,
	};
	struct block_handle *block;
	struct block_info info;
	int err;

	memcpy(scratch->raw, pool_range(d, r), r->u.open.data_length);
	err = open_data_parse(scratch->raw, r->u.open.data_length, data);
	if (err)
		return err;
	name.num_storages = data->num_storages;
	err = handles_room(d->handles);
	if (err)
		return err;
	err = block_open(d->store, d->conn->policy, &name, &block, &info);
	if (err)
		return err;
	err = handles_add(d->handles, block, &response->handle);
	if (err) {
		block_close(block);
		return err;
	}
	fill_block(response, &info);
	return 0;
}

static int do_read(struct dispatch *d, const struct vread_request *r)
{
	struct block_handle *block = handles_get(d->handles, r->handle);
	ssize_t n;

	if (!block)
		return -EBADF;
	n = block_read(block, r->u.read.offset, pool_range(d, r), r->u.read.length);
	handles_put(d->handles, r->handle);
	return (int)n;
}

static int do_stat(struct dispatch *d, const struct vread_request *r,
		   struct vread_response *response)
{
	struct block_handle *block = handles_get(d->handles, r->handle);
	struct block_info info;
	int err;

	if (!block)
		return -EBADF;
	err = block_stat(block, &info);
	handles_put(d->handles, r->handle);
	if (!err)
		fill_block(response, &info);
	return err;
}

static int carry_out(struct dispatch *d, struct dispatch_scratch *scratch,
		     const struct vread_request *r, struct vread_response *response)
{
	int err = validate_request(r, d->conn->pool_pages);

	if (err)
		return err;
	switch (r->operation) {
	case VREAD_OP_OPEN:
		return do_open(d, scratch, r, response);
	case VREAD_OP_READ:
		return do_read(d, r);
	case VREAD_OP_CLOSE:
		return handles_remove(d->handles, r->handle);
	case VREAD_OP_STAT:
		return do_stat(d, r, response);
	default: /* PUBLISH: feature-publish is 0 */
		return -EOPNOTSUPP;
	}
}

void dispatch_request(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r, struct vread_response *response)
{
	response->id = r->id;
	response->operation = r->operation;
	response->status = carry_out(d, scratch, r, response);
	counters_response(&d->counters, r->operation, response->status);
}
