// SPDX-License-Identifier: GPL-2.0
/*
 * Implements link.h: takes all queues of a device up and down together.
 *
 * Lock order: queue lock; then one of device lock, file lock and pool lock; then the lock of a wait
 * queue.  Completions run under a queue lock and may take the other locks.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "file.h"
#include "link.h"
#include "request.h"

bool vread_link_alive(const struct vread_device *dev)
{
	const u8 *alive = READ_ONCE(dev->alive);

	return alive && READ_ONCE(*alive);
}

void vread_link_wake_all(struct vread_device *dev)
{
	struct vread_file *file;
	unsigned long flags;

	wake_up_all(&dev->wq);
	spin_lock_irqsave(&dev->lock, flags);
	list_for_each_entry (file, &dev->files, node)
		wake_up_all(&file->wq);
	spin_unlock_irqrestore(&dev->lock, flags);
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
		vread_queue_start(&dev->queue[n], generation);
	vread_link_wake_all(dev);
}

void vread_link_down(struct vread_device *dev, bool unmapped)
{
	LIST_HEAD(closes);
	struct vread_handle *handle, *next;
	unsigned long flags;
	unsigned int n;

	/* First, so that pages that the completions below give back go to quarantine. */
	if (dev->pool)
		vread_pool_disconnected(dev->pool);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_stop(&dev->queue[n], -ENOTCONN);

	spin_lock_irqsave(&dev->lock, flags);
	dev->up = false;
	list_splice_init(&dev->closes, &closes);
	spin_unlock_irqrestore(&dev->lock, flags);
	list_for_each_entry_safe (handle, next, &closes, node)
		kfree(handle);

	if (unmapped && dev->pool)
		vread_pool_unmapped(dev->pool);
	vread_link_wake_all(dev);
}

bool vread_link_check(struct vread_device *dev)
{
	struct vread_queue *q = &dev->queue[0];
	unsigned long flags;
	bool died;

	spin_lock_irqsave(&q->lock, flags);
	died = q->live && !vread_link_alive(dev);
	if (died)
		q->live = false; /* so that only one caller takes the link down */
	spin_unlock_irqrestore(&q->lock, flags);
	if (!died)
		return false;

	vread_info(dev, "the backend went away; waiting for it to come back");
	vread_link_down(dev, true);
	return true;
}

void vread_link_fault(struct vread_device *dev, unsigned int queue, const char *what)
{
	if (!xchg(&dev->faulty, true))
		vread_err(dev, "backend broke the protocol on queue %u: %s; disconnecting", queue,
			  what);
	queue_work(system_long_wq, &dev->work);
}

void vread_link_progress(struct vread_device *dev)
{
	vread_link_flush_closes(dev);
	if (wq_has_sleeper(&dev->wq))
		wake_up_all(&dev->wq);
}

int vread_link_put(struct vread_device *dev, struct vread_req *req, struct vread_request *wire,
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

bool vread_link_has_room(struct vread_device *dev)
{
	unsigned int n, queues = READ_ONCE(dev->num_queues);

	for (n = 0; n < queues; n++)
		if (vread_queue_has_room(&dev->queue[n]))
			return true;
	return false;
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
		int ret = vread_handle_send_close(handle);

		if (ret == -EAGAIN) {
			vread_handle_want_close(handle);
			/* A full ring has responses to come, and their event flushes again.  But
			 * if they came before the handle was back on the list, there is room now:
			 * try again. */
			if (!vread_link_has_room(dev))
				return;
		} else if (ret) {
			kfree(handle); /* the connection is gone, so the backend has closed it */
		}
	}
}
