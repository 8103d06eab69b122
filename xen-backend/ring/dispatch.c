/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dispatch.c - see dispatch.h.
 *
 * The pool is shared with the frontend and may change at any time: OPEN's
 * and PUBLISH's data is copied out of it once and only the copy is looked at;
 * READ only writes to it.
 */
#include "ring/dispatch.h"

#include <errno.h>

#include "block/block.h"
#include "policy/policy.h"
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

/* The block that handle number names becomes what the answer is about; NULL: none. */
static struct block_handle *set_subject(struct dispatch *d, struct dispatch_scratch *scratch,
					uint32_t number)
{
	scratch->subject = handles_get(d->handles, number);
	scratch->subject_number = number;
	return scratch->subject;
}

static int copy_data(const struct dispatch *d, struct dispatch_scratch *scratch,
		     const struct vread_request *r, uint32_t length)
{
	memcpy(scratch->raw, pool_range(d, r), length);
	return open_data_parse(scratch->raw, length, &scratch->data);
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
		.client = d,
	};
	struct block_handle *block;
	struct block_info info;
	int err = copy_data(d, scratch, r, r->u.open.data_length);

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
	set_subject(d, scratch, response->handle);
	fill_block(response, &info);
	return 0;
}

static int do_read(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r)
{
	struct block_handle *block = set_subject(d, scratch, r->handle);

	if (!block)
		return -EBADF;
	return (int)block_read(block, r->u.read.offset, pool_range(d, r), r->u.read.length);
}

static int do_stat(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	struct block_handle *block = set_subject(d, scratch, r->handle);
	struct block_info info;
	int err;

	if (!block)
		return -EBADF;
	err = block_stat(block, &info);
	if (!err)
		fill_block(response, &info);
	return err;
}

static int do_publish(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r)
{
	struct open_data *data = &scratch->data;
	struct block_event event = {
		.pool_id = data->pool_id,
		.block_id = r->u.publish.block_id,
		.genstamp = r->u.publish.genstamp,
		.event = r->u.publish.event,
	};
	int err;

	if (!policy_is_publisher(d->conn->policy))
		return -EOPNOTSUPP;
	err = copy_data(d, scratch, r, r->u.publish.data_length);
	if (err)
		return err;
	if (data->num_storages != 1 || data->token)
		return -EINVAL;
	event.storage_id = data->storage_ids[0];
	return block_publish(d->store, d->conn->policy, &event);
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
		return do_read(d, scratch, r);
	case VREAD_OP_CLOSE:
		return handles_remove(d->handles, r->handle);
	case VREAD_OP_STAT:
		return do_stat(d, scratch, r, response);
	case VREAD_OP_PUBLISH:
		return do_publish(d, scratch, r);
	default: /* validate_request() knows no other */
		return -EOPNOTSUPP;
	}
}

void dispatch_request(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r, struct vread_response *response)
{
	scratch->subject = NULL;
	response->id = r->id;
	response->operation = r->operation;
	response->status = carry_out(d, scratch, r, response);
}

/* The datanode took its block back while the request was carried out. */
static void deny(struct dispatch *d, struct dispatch_scratch *scratch,
		 struct vread_response *response)
{
	bool opened = response->operation == VREAD_OP_OPEN;

	if (opened)
		handles_remove(d->handles, scratch->subject_number);
	*response = (struct vread_response){
		.id = response->id,
		.operation = response->operation,
		.status = opened ? -ENOENT : -EAGAIN,
	};
}

void dispatch_seal(struct dispatch *d, struct dispatch_scratch *scratch,
		   struct vread_response *response)
{
	if (scratch->subject && !block_hold(scratch->subject))
		deny(d, scratch, response);
	counters_response(&d->counters, response->operation, response->status);
}

void dispatch_unseal(struct dispatch *d, struct dispatch_scratch *scratch)
{
	if (!scratch->subject)
		return;
	block_release(scratch->subject);
	handles_put(d->handles, scratch->subject_number);
	scratch->subject = NULL;
}
