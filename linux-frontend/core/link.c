// SPDX-License-Identifier: GPL-2.0
/*
 * Implements link.h: takes all queues of a device up and down together, and closes handles.
 *
 * Lock order: queue lock; then one of device lock, file lock and pool lock; then the lock of a wait
 * queue.  Completions run under a queue lock and may take the other locks.
 */
#include <linux/errno.h>
#include <linux/interrupt.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "link.h"
#include "trace.h"

bool vread_link_alive(const struct vread_device *dev)
{
	const u8 *alive = READ_ONCE(dev->alive);

	return alive && READ_ONCE(*alive);
}

void vread_link_wake_all(struct vread_device *dev)
{
	struct vread_waiter *waiter;

	wake_up_all(&dev->wq);
	wake_up_all(&dev->control);
	mutex_lock(&dev->waiters_mutex);
	list_for_each_entry(waiter, &dev->waiters, node)
		wake_up_all(&waiter->wq);
	mutex_unlock(&dev->waiters_mutex);
}

/* ---- events ---- */

/* The backend broke the protocol. */
static void fault(struct vread_device *dev, unsigned int queue, const char *what)
{
	if (!xchg(&dev->faulty, true))
		vread_err(dev, "backend broke the protocol on queue %u: %s; disconnecting", queue,
			  what);
	queue_work(system_long_wq, &dev->work);
}

/* Responses made room. */
static void progress(struct vread_device *dev)
{
	vread_link_flush_closes(dev);
	if (wq_has_sleeper(&dev->wq))
		wake_up_poll(&dev->wq, EPOLLOUT | EPOLLWRNORM);
}

static irqreturn_t queue_event(int irq, void *arg)
{
	struct vread_queue *q = arg;
	unsigned int count = 0;
	const char *wrong;

	wrong = vread_queue_take(q, &count);
	if (wrong) {
		/* Without event_done() a channel of Xen stays silent until it is closed. */
		fault(q->dev, q->index, wrong);
		return IRQ_HANDLED;
	}
	if (count)
		progress(q->dev);
	if (vread_link_recheck(q->dev))
		count++;
	q->attach->event_done(irq, !count);
	return IRQ_HANDLED;
}

/* ---- open, close, up and down ---- */

int vread_link_open(struct vread_device *dev, unsigned int queues, unsigned int ring_order)
{
	unsigned int n, places;
	int err;

	for (n = 0; n < queues; n++) {
		err = vread_queue_open(&dev->queue[n], ring_order, queue_event);
		if (err) {
			vread_link_close(dev);
			return err;
		}
	}
	WRITE_ONCE(dev->num_queues, queues);
	places = queues * RING_SIZE(&dev->queue[0].ring);
	vread_shares_set(&dev->shares, VREAD_SHARE_REQUESTS, places, places / 8);
	WRITE_ONCE(dev->alive, (const u8 *)dev->queue[0].sring + VREAD_RING_ALIVE_OFFSET);
	return 0;
}

void vread_link_close(struct vread_device *dev)
{
	unsigned int n;

	/* First unbind all handlers: they all read the alive byte in the ring of queue 0. */
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_unbind(&dev->queue[n]);
	WRITE_ONCE(dev->alive, NULL);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_close(&dev->queue[n]);
}

void vread_link_up(struct vread_device *dev)
{
	u32 generation = dev->generation + 1;
	unsigned long flags;
	unsigned int n;

	vread_pool_connected(dev->pool);
	spin_lock_irqsave(&dev->lock, flags);
	dev->generation = generation;
	dev->up = true;
	spin_unlock_irqrestore(&dev->lock, flags);
	/* Queue 0 last: once queue 0 is live, the death of the backend stops all queues. */
	for (n = dev->num_queues; n--;)
		vread_queue_start(&dev->queue[n], generation, dev->alive);
	trace_vread_link(dev->name, true, generation);
	vread_link_wake_all(dev);
}

void vread_link_down(struct vread_device *dev)
{
	LIST_HEAD(closes);
	struct vread_handle *handle, *next;
	unsigned long flags;
	unsigned int n;
	bool was_up;

	/* First, so that pages that the completions below give back go to quarantine. */
	if (dev->pool)
		vread_pool_disconnected(dev->pool);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_stop(&dev->queue[n], -ENOTCONN);

	spin_lock_irqsave(&dev->lock, flags);
	was_up = dev->up;
	dev->up = false;
	list_splice_init(&dev->closes, &closes);
	spin_unlock_irqrestore(&dev->lock, flags);
	list_for_each_entry_safe(handle, next, &closes, node)
		kfree(handle);

	/* Else all were woken before. */
	if (was_up) {
		trace_vread_link(dev->name, false, dev->generation);
		vread_link_wake_all(dev);
	}
}

static bool has_died(struct vread_device *dev)
{
	struct vread_queue *q = &dev->queue[0];
	unsigned long flags;
	bool died;

	spin_lock_irqsave(&q->lock, flags);
	died = q->live && !vread_link_alive(dev);
	spin_unlock_irqrestore(&q->lock, flags);
	return died;
}

void vread_link_check(struct vread_device *dev)
{
	if (!has_died(dev))
		return;
	vread_info(dev, "the backend went away; waiting for it to come back");
	vread_link_down(dev);
}

bool vread_link_recheck(struct vread_device *dev)
{
	bool died = has_died(dev);

	if (died)
		queue_work(system_long_wq, &dev->work);
	return died;
}

/* ---- requests ---- */

static int put_anywhere(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
			u32 generation)
{
	unsigned int queues = READ_ONCE(dev->num_queues), n, first;
	int ret = -ENOTCONN, full = 0;

	first = raw_smp_processor_id();
	for (n = 0; n < queues; n++) {
		ret = vread_queue_put(&dev->queue[(first + n) % queues], req, wire, generation);
		if (!ret)
			return 0;
		if (ret == -EAGAIN)
			full = 1;
	}
	return full ? -EAGAIN : ret;
}

int vread_link_put(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
		   u32 generation)
{
	struct vread_user *user = req->user;
	int ret;

	if (user && !vread_share_take(user, VREAD_SHARE_REQUESTS, 1))
		return READ_ONCE(dev->up) ? -EAGAIN : -ENOTCONN;
	ret = put_anywhere(dev, req, wire, generation);
	if (ret && user)
		vread_share_give(user, VREAD_SHARE_REQUESTS, 1);
	return ret;
}

void vread_link_taken(struct vread_req *req)
{
	vread_share_give(req->user, VREAD_SHARE_REQUESTS, 1);
}

bool vread_link_has_room(struct vread_device *dev, struct vread_user *user)
{
	unsigned int n, queues = READ_ONCE(dev->num_queues);

	if (user && !vread_share_has_room(user, VREAD_SHARE_REQUESTS))
		return false;
	for (n = 0; n < queues; n++)
		if (vread_queue_has_room(&dev->queue[n]))
			return true;
	return false;
}

/* ---- handles ---- */

struct vread_handle *vread_handle_create(struct vread_device *dev, u32 generation)
{
	struct vread_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);

	if (!handle)
		return NULL;
	kref_init(&handle->ref);
	handle->dev = dev;
	handle->generation = generation;
	return handle;
}

static void close_complete(struct vread_req *req, int status, const struct vread_response *rsp)
{
	/* The answer is ignored: nothing could be done about an error. */
	kfree(container_of(req, struct vread_handle, req));
}

/* Sends the CLOSE.  0, or as vread_link_put(): the handle stays the caller's. */
static int send_close(struct vread_handle *handle)
{
	struct vread_request wire = {
		.operation = VREAD_OP_CLOSE,
		.handle = handle->backend,
	};

	handle->req.operation = VREAD_OP_CLOSE;
	handle->req.max_status = 0;
	handle->req.complete = close_complete;
	return vread_link_put(handle->dev, &handle->req, &wire, handle->generation);
}

/* Queues the CLOSE, or frees the handle if its connection is gone.  Takes over the handle. */
static void want_close(struct vread_handle *handle)
{
	struct vread_device *dev = handle->dev;
	unsigned long flags;
	bool wanted;

	spin_lock_irqsave(&dev->lock, flags);
	wanted = dev->up && handle->generation == dev->generation;
	if (wanted)
		list_add_tail(&handle->node, &dev->closes);
	spin_unlock_irqrestore(&dev->lock, flags);
	if (!wanted)
		kfree(handle);
}

static void handle_release(struct kref *ref)
{
	struct vread_handle *handle = container_of(ref, struct vread_handle, ref);

	if (handle->open)
		want_close(handle);
	else
		kfree(handle);
}

void vread_handle_put(struct vread_handle *handle)
{
	kref_put(&handle->ref, handle_release);
}

static struct vread_handle *next_close(struct vread_device *dev)
{
	struct vread_handle *handle;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	handle = list_first_entry_or_null(&dev->closes, struct vread_handle, node);
	if (handle)
		list_del(&handle->node);
	spin_unlock_irqrestore(&dev->lock, flags);
	return handle;
}

void vread_link_flush_closes(struct vread_device *dev)
{
	struct vread_handle *handle;

	while ((handle = next_close(dev))) {
		int ret = send_close(handle);

		if (ret == -EAGAIN) {
			want_close(handle);
			/* A full ring has responses to come, and their event flushes again.  But
			 * if they came before the handle was back on the list, there is room now:
			 * try again. */
			if (!vread_link_has_room(dev, NULL))
				return;
		} else if (ret) {
			kfree(handle); /* the connection is gone, so the backend has closed it */
		}
	}
}
