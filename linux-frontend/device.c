// SPDX-License-Identifier: GPL-2.0
/*
 * Implements device.h: creates a device, and frees it when nobody holds it any more.
 */
#include <linux/slab.h>

#include "device.h"

struct vread_device *vread_device_create(work_func_t work)
{
	struct vread_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	unsigned int n;

	if (!dev)
		return NULL;
	kref_init(&dev->ref);
	INIT_WORK(&dev->work, work);
	dev->role = "client";
	init_waitqueue_head(&dev->wq);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->closes);
	INIT_LIST_HEAD(&dev->waiters);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_init(&dev->queue[n], dev, n);
	return dev;
}

static void device_release(struct kref *ref)
{
	struct vread_device *dev = container_of(ref, struct vread_device, ref);

	/* An open file may have queued the work after the device was removed. */
	cancel_work_sync(&dev->work);
	vread_pool_destroy(dev->pool);
	kfree(dev->otherend);
	kfree(dev);
}

void vread_device_put(struct vread_device *dev)
{
	kref_put(&dev->ref, device_release);
}
