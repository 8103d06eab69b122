// SPDX-License-Identifier: GPL-2.0
/*
 * Implements device.h: creates a device, and frees it when nobody holds it any more.
 */
#include <linux/device.h>
#include <linux/export.h>
#include <linux/mm.h>

#include "device.h"

static void retry_now(struct work_struct *retry)
{
	struct vread_device *dev = container_of(to_delayed_work(retry), struct vread_device, retry);

	queue_work(system_long_wq, &dev->work);
}

int vread_device_init(struct vread_device *dev, const struct vread_attachment *attach,
		      struct device *parent, work_func_t work)
{
	unsigned int n;

	if (PAGE_SIZE != VREAD_PAGE_SIZE) {
		dev_err(parent, "pages of this kernel have %lu bytes: vRead shares pages of %u\n",
			PAGE_SIZE, VREAD_PAGE_SIZE);
		return -EOPNOTSUPP;
	}
	if (init_srcu_struct(&dev->users))
		return -ENOMEM;
	kref_init(&dev->ref);
	mutex_init(&dev->step);
	dev->held = true;
	dev->attach = attach;
	dev->parent = get_device(parent);
	INIT_WORK(&dev->work, work);
	INIT_DELAYED_WORK(&dev->retry, retry_now);
	dev->role = "client";
	init_waitqueue_head(&dev->wq);
	init_waitqueue_head(&dev->control);
	vread_shares_init(&dev->shares);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->closes);
	INIT_LIST_HEAD(&dev->waiters);
	mutex_init(&dev->waiters_mutex);
	for (n = 0; n < VREAD_MAX_QUEUES; n++)
		vread_queue_init(&dev->queue[n], dev, attach, dev->name, n);
	return 0;
}
EXPORT_SYMBOL_GPL(vread_device_init);

bool vread_device_is_open(struct vread_device *dev)
{
	bool open;

	spin_lock_irq(&dev->lock);
	open = !list_empty(&dev->waiters);
	spin_unlock_irq(&dev->lock);
	return open;
}
EXPORT_SYMBOL_GPL(vread_device_is_open);

static void device_release(struct kref *ref)
{
	struct vread_device *dev = container_of(ref, struct vread_device, ref);

	/* Whoever held a reference may have queued the work after the device was removed. */
	cancel_work_sync(&dev->work);
	vread_pool_destroy(dev->pool);
	cleanup_srcu_struct(&dev->users);
	put_device(dev->parent);
	dev->attach->free(dev);
}

void vread_device_put(struct vread_device *dev)
{
	kref_put(&dev->ref, device_release);
}
EXPORT_SYMBOL_GPL(vread_device_put);
