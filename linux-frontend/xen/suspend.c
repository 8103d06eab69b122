// SPDX-License-Identifier: GPL-2.0
/*
 * Implements suspend.h: the parts of a save or migration that xenbus does not do for every device.
 *
 * Before.  A live migration sends pages while the guest runs, and sends the pages that were written
 * since then again.  Pages of the pool that the backend wrote do not count as written: Xen marks
 * granted pages only when they are unmapped.  So this file writes to each used page at the last
 * moment, when nothing else of the guest runs.  All bytes that a process was told of are in the
 * pool by then.  Bytes that come later answer requests that will fail.
 *
 * After.  A guest may wake up where its devices have no nodes: the host has no vRead, or its
 * toolstack is late.  xenbus does not call a driver for a device whose backend it cannot find, and
 * does not look again.  So the device would stay as it was, and its rings would take requests that
 * nobody answers.  But all watches are set again after a restore, and the watch of this file then
 * fires.  A device without nodes is removed, as if it had been detached.  A device that is attached
 * later is a new one.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/syscore_ops.h>
#include <xen/xenbus.h>

#include "core/pool.h"
#include "suspend.h"
#include "vread-nodes.h"

static struct xenbus_driver *vread_driver;

/* Runs on one CPU with interrupts off, so nothing changes the pools meanwhile. */
static int going(void *unused)
{
	vread_pools_touch();
	return 0;
}

static const struct syscore_ops syscore_ops = {.suspend = going};
static struct syscore syscore = {.ops = &syscore_ops};

/* A xenstore that fails for another reason does not say that the node is gone. */
static bool has_node(const char *nodename)
{
	char *value = xenbus_read(XBT_NIL, nodename, "", NULL);

	if (IS_ERR(value))
		return PTR_ERR(value) != -ENOENT;
	kfree(value);
	return true;
}

static int is_orphan(struct device *dev, const void *unused)
{
	struct xenbus_device *xbdev = to_xenbus_device(dev);

	/* otherend is missing if the nodes came after xenbus had looked for them. */
	return !xbdev->otherend || !has_node(xbdev->nodename);
}

/* Makes xenbus look at the nodes, if there are any, by writing the state that is there. */
static void have_probed(const char *nodename)
{
	unsigned int state;

	if (xenbus_scanf(XBT_NIL, nodename, "state", "%u", &state) == 1)
		xenbus_printf(XBT_NIL, nodename, "state", "%u", state);
}

/* Runs in the thread in which xenbus adds and removes devices. */
static void nodes_changed(struct xenbus_watch *watch, const char *path, const char *token)
{
	struct device *dev;

	while ((dev = driver_find_device(&vread_driver->driver, NULL, NULL, is_orphan))) {
		char *nodename = kstrdup(to_xenbus_device(dev)->nodename, GFP_KERNEL);

		dev_info(dev, "this domain has no such device; removing it\n");
		device_unregister(dev);
		put_device(dev);
		if (nodename)
			have_probed(nodename);
		kfree(nodename);
	}
}

static struct xenbus_watch watch = {
	.node = "device/" VREAD_DEVICE_TYPE,
	.callback = nodes_changed,
};

int vread_suspend_register(struct xenbus_driver *driver)
{
	int err;

	vread_driver = driver;
	err = register_xenbus_watch(&watch);
	if (!err)
		register_syscore(&syscore);
	return err;
}

void vread_suspend_unregister(void)
{
	unregister_syscore(&syscore);
	unregister_xenbus_watch(&watch);
}
