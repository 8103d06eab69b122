// SPDX-License-Identifier: GPL-2.0
/*
 * What a save or migration needs beyond what xenbus does for every device.
 *
 * Going.  A live migration sends pages while the guest runs, and again those it wrote to since.  What the
 * backend wrote into the pool does not count as written: Xen marks pages of a grant only when they are
 * unmapped.  So at the very last moment, when nothing else of the guest runs, each page
 * in use is written to here.  All that a process was told it has been given lies in the pool by then; what
 * comes later answers requests that will fail.
 *
 * Coming.  A guest that wakes up where its devices have no nodes yet (the host has no vRead, or its toolstack
 * is late) keeps them as they were: xenbus does not call a driver for a device whose
 * backend it cannot find, and would never look again.  Its rings would take requests that nobody
 * answers.  Watches are set anew after a restore, and ours fires then: a device without nodes
 * is removed, as if it had been detached, and one that is made later is a new one.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <xen/xenbus.h>

#include "compat.h"
#include "pool.h"
#include "suspend.h"
#include "vread-nodes.h"

static struct xenbus_driver *vread_driver;

/* On one CPU, with interrupts off: nothing holds the locks of what is looked at. */
static int going(void)
{
	vread_pools_touch();
	return 0;
}

VREAD_SYSCORE(vread_syscore, going);

static int is_orphan(struct device *dev, const void *unused)
{
	struct xenbus_device *xbdev = to_xenbus_device(dev);

	/* Without otherend: its nodes came after xenbus had looked for them. */
	return !xbdev->otherend || !xenbus_exists(XBT_NIL, xbdev->nodename, "");
}

/* Has xenbus look at the nodes, if there are any: it does when one is written. */
static void have_probed(const char *nodename)
{
	unsigned int state;

	if (xenbus_scanf(XBT_NIL, nodename, "state", "%u", &state) == 1)
		xenbus_printf(XBT_NIL, nodename, "state", "%u", state);
}

/* In the thread that xenbus itself adds and removes devices in. */
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
		vread_syscore_register(&vread_syscore);
	return err;
}

void vread_suspend_unregister(void)
{
	vread_syscore_unregister(&vread_syscore);
	unregister_xenbus_watch(&watch);
}
