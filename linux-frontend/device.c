// SPDX-License-Identifier: GPL-2.0
/*
 * Implements device.h: creates a device, and frees it when nobody holds it any more.
 */
#include "device.h"

void vread_device_init(struct vread_device *dev, const struct vread_attachment *attach,
		       struct device *parent, work_func_t work)
{
	unsigned int n;

	kref_init(&dev->ref);
	dev->attach = attach;
	dev->parent = parent;
	INIT_WORK(&dev->work, work);
	dev->role = "client";
	init_waitqueue_head(&dev->wq);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->closes);
	INIT_LIST_HEAD(&dev->waiters);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_init(&dev->queue[n], dev, attach, n);
}

static void device_release(struct kref *ref)
{
	struct vread_device *dev = container_of(ref, struct vread_device, ref);

	/* An open file may have queued the work after the device was removed. */
	cancel_work_sync(&dev->work);
	vread_pool_destroy(dev->pool);
	dev->attach->free(dev);
}

void vread_device_put(struct vread_device *dev)
{
	kref_put(&dev->ref, device_release);
}
