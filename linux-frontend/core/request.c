// SPDX-License-Identifier: GPL-2.0
/*
 * Implements request.h: OPEN, STAT, PUBLISH and KEYS.
 */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "check.h"
#include "link.h"
#include "request.h"
#include "wait.h"

/* ---- calls ---- */

/* A request that a thread waits for.  The thread holds a reference, and so does the request once it
 * is on a ring. */
struct vread_call {
	struct vread_req req;
	struct kref ref;
	struct vread_device *dev;
	struct vread_handle *handle; /* a reference; OPEN: the new handle; STAT: its handle */
	u32 generation;              /* of the connection that carries the call */
	unsigned int first, pages;   /* control pages; none if pages is 0 */
	wait_queue_head_t wq;
	bool done;
	int status;
	struct vread_response rsp;
};

/* Keys that sign block tokens must not stay in pages that the backend can read at any time. */
static void wipe_pages(const struct vread_call *call)
{
	struct vread_device *dev = call->dev;
	int users = srcu_read_lock(&dev->users);
	unsigned int n;

	for (n = 0; n < call->pages; n++)
		memzero_explicit(vread_pool_address(dev->pool, call->first + n), VREAD_PAGE_SIZE);
	srcu_read_unlock(&dev->users, users);
}

static void call_release(struct kref *ref)
{
	struct vread_call *call = container_of(ref, struct vread_call, ref);

	if (call->pages) {
		if (call->req.operation == VREAD_OP_KEYS)
			wipe_pages(call);
		vread_pool_give(call->dev->pool, call->first, call->pages);
		vread_share_give(call->req.user, VREAD_SHARE_CONTROL, call->pages);
		wake_up_all(&call->dev->control);
	}
	if (call->handle)
		vread_handle_put(call->handle);
	vread_user_put(call->req.user);
	kfree(call);
}

static void call_complete(struct vread_req *req, int status, const struct vread_response *rsp)
{
	struct vread_call *call = container_of(req, struct vread_call, req);

	vread_link_taken(req);
	call->status = status;
	if (rsp)
		call->rsp = *rsp;
	if (rsp && !status && req->operation == VREAD_OP_OPEN) {
		call->handle->backend = rsp->handle;
		call->handle->open = true;
	}
	smp_store_release(&call->done, true); /* after status, rsp and handle */
	wake_up_all(&call->wq);
	kref_put(&call->ref, call_release);
}

static struct vread_call *call_create(struct vread_device *dev, struct vread_user *user,
				      u32 generation, u8 operation)
{
	struct vread_call *call = kzalloc(sizeof(*call), GFP_KERNEL_ACCOUNT);

	if (!call)
		return NULL;
	kref_init(&call->ref);
	init_waitqueue_head(&call->wq);
	call->dev = dev;
	call->generation = generation;
	call->req.operation = operation;
	call->req.user = vread_user_ref(user);
	call->req.complete = call_complete;
	return call;
}

/* Takes over the caller's reference to handle. */
static struct vread_call *handle_call_create(struct vread_handle *handle, struct vread_user *user,
					     u8 operation)
{
	struct vread_call *call = call_create(handle->dev, user, handle->generation, operation);

	if (call)
		call->handle = handle;
	else
		vread_handle_put(handle);
	return call;
}

static void call_put(struct vread_call *call)
{
	struct vread_device *dev = call->dev;

	kref_put(&call->ref, call_release);
	vread_link_flush_closes(dev);
}

static int wait_error(long left)
{
	return left < 0 ? -EINTR : -ETIME;
}

static long wait_limit(u32 timeout_ms)
{
	return timeout_ms ? (long)msecs_to_jiffies(timeout_ms) : MAX_SCHEDULE_TIMEOUT;
}

static bool link_lost(struct vread_device *dev, u32 generation)
{
	return READ_ONCE(dev->gone) || !READ_ONCE(dev->up) ||
	       READ_ONCE(dev->generation) != generation;
}

/* Waits for room on a ring, then for the answer.  left: the jiffies left. */
static int call_run(struct vread_call *call, struct vread_request *wire, long *left)
{
	struct vread_device *dev = call->dev;
	u32 generation = call->generation;
	int ret;

	kref_get(&call->ref);
	while ((ret = vread_link_put(dev, &call->req, wire, generation)) == -EAGAIN) {
		*left = vread_wait(dev->wq,
				   vread_link_has_room(dev, call->req.user) ||
					   link_lost(dev, generation),
				   *left);
		if (*left <= 0) {
			ret = wait_error(*left);
			break;
		}
	}
	if (ret) {
		kref_put(&call->ref, call_release);
		return ret;
	}

	/* Pairs with call_complete(). */
	*left = vread_wait(call->wq, smp_load_acquire(&call->done), *left);
	if (*left <= 0) {
		vread_link_recheck(dev); /* the event of a backend's death may be lost */
		if (!smp_load_acquire(&call->done))
			return wait_error(*left);
	}
	return call->status;
}

/* ---- open_data of OPEN, PUBLISH and KEYS ---- */

/* Puts data into the call's pages.  0, or -ENODEV: the device is gone, and so are the pages. */
static int fill_pages(const struct vread_call *call, const void *data, u32 length)
{
	struct vread_device *dev = call->dev;
	int users = srcu_read_lock(&dev->users);
	bool there = !READ_ONCE(dev->gone);
	u32 done, n;

	for (done = 0; there && done < length; done += n) {
		n = min_t(u32, length - done, VREAD_PAGE_SIZE);
		memcpy(vread_pool_address(dev->pool, call->first + done / VREAD_PAGE_SIZE),
		       data + done, n);
	}
	srcu_read_unlock(&dev->users, users);
	return there ? 0 : -ENODEV;
}

static bool try_control_pages(struct vread_call *call, unsigned int pages)
{
	struct vread_pool *pool = call->dev->pool;
	struct vread_user *user = call->req.user;

	if (!vread_share_take(user, VREAD_SHARE_CONTROL, pages))
		return false;
	if (vread_pool_take(pool, VREAD_AREA_CONTROL, pages, &call->first)) {
		vread_share_give(user, VREAD_SHARE_CONTROL, pages);
		return false;
	}
	call->pages = pages;
	return true;
}

static int take_control_pages(struct vread_call *call, unsigned int pages, long *left)
{
	struct vread_device *dev = call->dev;
	u32 generation = call->generation;

	*left = vread_wait(dev->control,
			   try_control_pages(call, pages) || link_lost(dev, generation), *left);
	if (call->pages)
		return 0;
	return *left > 0 ? -ENOTCONN : wait_error(*left);
}

/* Runs a request with open_data that lies in the memory of a process.  That memory may be a file of
 * FUSE or be watched by userfaultfd, so that its owner decides how long a copy takes: nothing that
 * others wait for is held meanwhile. */
static int call_run_with_data(struct vread_call *call, struct vread_request *wire, u64 data,
			      u32 length, u32 timeout_ms)
{
	void *copy = vmemdup_user(u64_to_user_ptr(data), length);
	long left = wait_limit(timeout_ms);
	int ret;

	if (IS_ERR(copy))
		return PTR_ERR(copy);
	ret = take_control_pages(call, DIV_ROUND_UP(length, VREAD_PAGE_SIZE), &left);
	if (!ret)
		ret = fill_pages(call, copy, length);
	kvfree_sensitive(copy, length); /* perhaps keys */
	if (ret)
		return ret;
	wire->pool_page = call->first;
	wire->pool_pages = call->pages;
	return call_run(call, wire, &left);
}

/* ---- OPEN ---- */

/* The caller, for the backend's log: a number of this kernel's initial user namespace. */
static u32 calling_user(struct vread_device *dev)
{
	return READ_ONCE(dev->takes_user) ? from_kuid(&init_user_ns, current_uid()) + 1 : 0;
}

static int run_open(struct vread_device *dev, struct vread_call *call, struct vread_ioc_open *open)
{
	struct vread_request wire = {
		.operation = VREAD_OP_OPEN,
		.u.open.block_id = open->block_id,
		.u.open.genstamp = open->genstamp,
		.u.open.visible_length = open->visible_length,
		.u.open.data_length = open->data_length,
		.u.open.user = calling_user(dev),
	};

	return call_run_with_data(call, &wire, open->data, open->data_length, open->timeout_ms);
}

int vread_open_block(struct vread_device *dev, struct vread_user *user, struct vread_ioc_open *open,
		     struct vread_handle **ret_handle)
{
	struct vread_handle *handle;
	struct vread_call *call;
	int ret;

	if (open->data_length < sizeof(struct vread_open_data) ||
	    open->data_length > VREAD_MAX_OPEN_DATA)
		return -EINVAL;
	if (!READ_ONCE(dev->up) || !smp_load_acquire(&dev->pool)) /* pairs with create_pool() */
		return -ENOTCONN;
	handle = vread_handle_create(dev, READ_ONCE(dev->generation));
	call = handle ? handle_call_create(handle, user, VREAD_OP_OPEN) : NULL;
	if (!call)
		return -ENOMEM;

	ret = run_open(dev, call, open);
	if (!ret) {
		open->length = call->rsp.u.block.length;
		open->flags = call->rsp.flags;
		*ret_handle = handle;
		kref_get(&handle->ref);
	}
	call_put(call);
	return ret;
}

/* ---- STAT ---- */

int vread_stat_block(struct vread_handle *handle, struct vread_user *user,
		     struct vread_ioc_stat *stat)
{
	struct vread_request wire = {
		.operation = VREAD_OP_STAT,
		.handle = handle->backend,
	};
	long left = wait_limit(stat->timeout_ms);
	struct vread_call *call;
	int ret;

	kref_get(&handle->ref);
	call = handle_call_create(handle, user, VREAD_OP_STAT);
	if (!call)
		return -ENOMEM;
	ret = call_run(call, &wire, &left);
	if (!ret) {
		stat->length = call->rsp.u.block.length;
		stat->genstamp = call->rsp.u.block.genstamp;
		stat->flags = call->rsp.flags;
	}
	call_put(call);
	return ret;
}

/* ---- PUBLISH and KEYS ---- */

static int publish(struct vread_device *dev, struct vread_user *user, struct vread_request *wire,
		   u64 data, u32 length, u32 timeout_ms)
{
	struct vread_call *call;
	int ret;

	if (!READ_ONCE(dev->up) || !smp_load_acquire(&dev->pool)) /* pairs with create_pool() */
		return -ENOTCONN;
	if (!READ_ONCE(dev->takes_events))
		return -EOPNOTSUPP;
	call = call_create(dev, user, READ_ONCE(dev->generation), wire->operation);
	if (!call)
		return -ENOMEM;
	ret = call_run_with_data(call, wire, data, length, timeout_ms);
	call_put(call);
	return ret;
}

int vread_publish_event(struct vread_device *dev, struct vread_user *user,
			const struct vread_ioc_publish *event)
{
	struct vread_request wire = {
		.operation = VREAD_OP_PUBLISH,
		.u.publish.block_id = event->block_id,
		.u.publish.genstamp = event->genstamp,
		.u.publish.length = event->length,
		.u.publish.data_length = event->data_length,
		.u.publish.event = event->event,
	};
	int ret = vread_check_publish(event);

	return ret ?: publish(dev, user, &wire, event->data, event->data_length, event->timeout_ms);
}

int vread_publish_keys(struct vread_device *dev, struct vread_user *user,
		       const struct vread_ioc_keys *keys)
{
	struct vread_request wire = {
		.operation = VREAD_OP_KEYS,
		.u.keys.data_length = keys->data_length,
		.u.keys.tokens = keys->tokens,
	};
	int ret = vread_check_keys(keys);

	return ret ?: publish(dev, user, &wire, keys->data, keys->data_length, keys->timeout_ms);
}
