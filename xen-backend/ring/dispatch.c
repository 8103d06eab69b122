// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements dispatch.h: one function per operation, and the sealing of responses. queue.c calls
 * it.
 *
 * The pool is shared with the frontend and may change at any time. So the data of OPEN, PUBLISH and
 * KEYS is copied out of the pool once, and only the copy is used. READ only writes to the pool.
 */
#include "ring/dispatch.h"

#include <errno.h>

#include "base/shortage.h"
#include "peer/peer.h"
#include "policy/audit.h"
#include "policy/policy.h"
#include "read/block.h"
#include "ring/remote.h"
#include "ring/validate.h"

static uint8_t *pool_range(const struct dispatch *d, const struct vread_request *r)
{
	return d->conn->pool + (size_t)r->pool_page * VREAD_PAGE_SIZE;
}

void dispatch_fill_block(struct vread_response *response, const struct block_info *info)
{
	response->flags = info->flags;
	response->u.block.length = info->length;
	response->u.block.genstamp = info->genstamp;
}

void dispatch_close(struct handle h)
{
	if (h.kind == HANDLE_PEER)
		peer_close(h.object);
	else
		reader_close(h);
}

/*
 * Looks up the handle of a request. Returns the handle if another host reads its block, with the
 * reference of the lookup; remote.h takes over both. NULL: no such handle, or the block is read
 * here.
 */
static struct peer_handle *look_up(struct dispatch *d, struct dispatch_scratch *scratch,
				   uint32_t number)
{
	struct reading *g = &scratch->reading;
	struct peer_handle *there;

	reading_begin(g, &d->reader, number);
	if (g->handle.kind != HANDLE_PEER)
		return NULL;
	there = g->handle.object;
	g->handle.object = NULL;
	return there;
}

/*
 * If the block cannot be opened here (err says why), ask another host. The storage ids of the
 * request say which host to ask. If memory or handles of this device are used up, another host is
 * of no help. If a named storage is here and its datanode refuses the token, no other host is
 * asked: a host with weaker rules would overrule this one.
 */
static int open_elsewhere(struct dispatch_scratch *scratch, const struct vread_request *r,
			  const struct block_name *name, int err)
{
	if (!scratch->remote || !name->num_storages || is_shortage(err) || err == -EPERM)
		return err;
	return remote_open(scratch->remote, r, name, err);
}

static int copy_data(const struct dispatch *d, struct dispatch_scratch *scratch,
		     const struct vread_request *r, uint32_t length)
{
	scratch->raw_length = length;
	memcpy(scratch->raw, pool_range(d, r), length);
	return open_data_parse(scratch->raw, length, &scratch->data);
}

/* Returns the name in an OPEN whose data was copied. */
static struct block_name name_of(const struct dispatch_scratch *scratch,
				 const struct vread_request *r)
{
	return (struct block_name){
		.pool_id = scratch->data.pool_id,
		.block_id = r->u.open.block_id,
		.genstamp = r->u.open.genstamp,
		.visible_length = r->u.open.visible_length,
		.storage_ids = scratch->data.storage_ids,
		.num_storages = scratch->data.num_storages,
		.token = scratch->data.token,
		.token_length = scratch->data.token_length,
		.encrypt = scratch->data.flags & VREAD_OPEN_ENCRYPT,
		.mac = scratch->data.flags & VREAD_OPEN_MAC,
	};
}

static int do_open(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	struct block_name name;
	struct block_info info;
	int err = copy_data(d, scratch, r, r->u.open.data_length);

	if (err)
		return err;
	if (!strcmp(scratch->data.pool_id, VREAD_NO_POOL))
		return -ENODEV;
	name = name_of(scratch, r);
	name.elsewhere = scratch->remote && peers_have(d->peers, &name);
	err = reading_open(&scratch->reading, &d->reader, &name, &info);
	if (err)
		return open_elsewhere(scratch, r, &name, err);
	response->handle = scratch->reading.number;
	dispatch_fill_block(response, &info);
	return 0;
}

static int do_read(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	struct peer_handle *there = look_up(d, scratch, r->handle);
	uint32_t sum;
	int n;

	if (there)
		return remote_read(scratch->remote, r, there);
	n = (int)reading_read(&scratch->reading, r->u.read.offset, pool_range(d, r),
			      r->u.read.length, &sum);
	if (n > 0)
		response->u.read.crc32c = sum;
	return n;
}

static int do_stat(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	struct peer_handle *there = look_up(d, scratch, r->handle);
	struct block_info info;
	int err;

	if (there)
		return remote_stat(scratch->remote, r, there);
	err = reading_stat(&scratch->reading, &info);
	if (!err)
		dispatch_fill_block(response, &info);
	return err;
}

/* 0, or the error of PUBLISH and KEYS on this connection. */
static int check_publisher(const struct dispatch *d)
{
	if (!policy_is_publisher(d->conn->policy))
		return -EOPNOTSUPP;
	return atomic_load(&d->conn->may_publish) ? 0 : -EACCES;
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
	int err = check_publisher(d);

	if (!err)
		err = copy_data(d, scratch, r, r->u.publish.data_length);
	if (err)
		return err;
	if (data->num_storages != 1 || data->token || data->flags)
		return -EINVAL;
	event.storage_id = data->storage_ids[0];
	return block_publish(d->reader.store, d->conn->policy, &event);
}

static int do_keys(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r)
{
	const struct open_data *data = &scratch->data;
	struct block_keys k = {.required = r->u.keys.tokens};
	int err = check_publisher(d);

	if (err)
		return err;
	err = copy_data(d, scratch, r, r->u.keys.data_length);
	if (!err && (data->num_storages != 1 || data->flags || (data->token && !k.required)))
		err = -EINVAL;
	if (!err) {
		k.pool_id = data->pool_id;
		k.storage_id = data->storage_ids[0];
		k.keys = data->token;
		k.keys_length = data->token_length;
		err = block_take_keys(d->reader.store, d->conn->policy, &k);
	}
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
		return do_read(d, scratch, r, response);
	case VREAD_OP_CLOSE:
		return handles_remove(d->reader.handles, r->handle);
	case VREAD_OP_STAT:
		return do_stat(d, scratch, r, response);
	case VREAD_OP_PUBLISH:
		return do_publish(d, scratch, r);
	case VREAD_OP_KEYS:
		return do_keys(d, scratch, r);
	default: /* validate_request() accepts no other operation */
		return -EOPNOTSUPP;
	}
}

/* A malformed request names no block. The log may make this thread wait, so no seal may be held. */
static void audit(const struct dispatch *d, const struct dispatch_scratch *scratch,
		  const struct vread_request *r, int status)
{
	const struct audit_open o = {
		.device = d->conn->name,
		.user = d->conn->user ? d->conn->user : r->u.open.user,
		.pool_id = scratch->data.pool_id,
		.block_id = r->u.open.block_id,
		.status = status,
	};

	if (r->operation == VREAD_OP_OPEN && status != -EINVAL)
		audit_open(&o);
}

/*
 * True if the request was an OPEN in the pool VREAD_NO_POOL, which asks for a sign of life and
 * expects ENODEV.
 */
static bool asked_for_a_sign_of_life(const struct dispatch_scratch *scratch,
				     const struct vread_response *response)
{
	return response->operation == VREAD_OP_OPEN && response->status == -ENODEV &&
	       !strcmp(scratch->data.pool_id, VREAD_NO_POOL);
}

/* Call it when nobody needs the token of the request any more. */
static void wipe(struct dispatch_scratch *scratch)
{
	explicit_bzero(scratch->raw, scratch->raw_length);
	scratch->raw_length = 0;
}

bool dispatch_request(struct dispatch *d, struct dispatch_scratch *scratch,
		      const struct vread_request *r, struct vread_response *response)
{
	scratch->reading = (struct reading){0};
	response->id = r->id;
	response->operation = r->operation;
	response->status = carry_out(d, scratch, r, response);
	if (!asked_for_a_sign_of_life(scratch, response))
		audit(d, scratch, r, response->status);
	if (response->status != -EINPROGRESS)
		return true;
	wipe(scratch);
	return false;
}

void dispatch_unseal(struct dispatch_scratch *scratch)
{
	reading_unseal(&scratch->reading);
}

void dispatch_end(struct dispatch_scratch *scratch)
{
	reading_end(&scratch->reading);
}

/*
 * Replaces a response that reading_seal() refused with that status. An OPEN asks other hosts, which
 * may have the block. It was logged as opened, so this is logged, too; it holds no seal any more.
 */
static void deny(struct dispatch *d, struct dispatch_scratch *scratch,
		 const struct vread_request *r, int status, struct vread_response *response)
{
	if (r->operation == VREAD_OP_OPEN) {
		struct block_name name = name_of(scratch, r);

		reading_end(&scratch->reading);
		status = open_elsewhere(scratch, r, &name, status);
		audit(d, scratch, r, status);
	}
	*response = (struct vread_response){
		.id = r->id,
		.operation = r->operation,
		.status = status,
	};
}

bool dispatch_seal(struct dispatch *d, struct dispatch_scratch *scratch,
		   const struct vread_request *r, struct vread_response *response)
{
	int refused = reading_seal(&scratch->reading);

	if (refused)
		deny(d, scratch, r, refused, response);
	wipe(scratch);
	if (response->status == -EINPROGRESS)
		return false;
	if (!asked_for_a_sign_of_life(scratch, response))
		counters_response(&d->counters, response->operation, response->status);
	return true;
}
