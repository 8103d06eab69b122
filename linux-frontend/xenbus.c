// SPDX-License-Identifier: GPL-2.0
/*
 * Implements xenbus.h: the frontend's side of the state machine in section 2 of vreadif.h.
 *
 * The xenstore watch only notes the backend's state and queues the device's work.  The work does
 * one step at a time.  It looks at the present state and not at events, because watches fire
 * early, twice and late.  Removal and resume run while the work is cancelled.
 *
 * A backend that breaks the protocol or makes an invalid offer is disconnected.  After
 * MAX_FAILURES failures, each within a minute of the one before, the device stays closed.  Then
 * only a backend that changes its state after a minute without a failure is connected again.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <xen/xenbus.h>

#include "chardev.h"
#include "check.h"
#include "compat.h"
#include "device.h"
#include "link.h"
#include "suspend.h"
#include "xenbus.h"
#include "vread-nodes.h"

#define MAX_FAILURES 8
#define FAILURE_PERIOD (60 * HZ)
#define SMALLEST_POOL_PAGES 256U /* a pool is not halved below this */
#define CLOSE_TIMEOUT_MS 10000

static const struct vread_params *params;
/* Completed when insmod no longer looks at the states of the devices. */
static DECLARE_COMPLETION(registered);

/* The terms of a connection. */
struct vread_terms {
	u32 queues;
	u32 ring_order;
	u32 pool_pages;
	u32 events; /* the backend's feature-publish */
	u32 user;   /* the backend's feature-user */
	const char *role;
};

/* ---- reading the backend's offer ---- */

/* Reads a node of the backend directory; kfree() the result.  ERR_PTR; -ENOENT: no such node. */
static char *read_offer(struct vread_device *dev, const char *node)
{
	char *text = xenbus_read(XBT_NIL, dev->otherend, node, NULL);

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		xenbus_dev_fatal(dev->xbdev, PTR_ERR(text), "reading %s/%s", dev->otherend, node);
	return text;
}

static int read_number(struct vread_device *dev, const char *node, u32 min, u32 max, u32 *ret)
{
	char *text = read_offer(dev, node);
	int err = -ENOENT;

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		return PTR_ERR(text);
	if (!IS_ERR(text))
		err = vread_parse_number(text, min, max, ret);
	if (err)
		xenbus_dev_fatal(dev->xbdev, err, "%s/%s is \"%.32s\": must be %u to %u",
				 dev->otherend, node, IS_ERR(text) ? "" : text, min, max);
	if (!IS_ERR(text))
		kfree(text);
	return err;
}

/* *ret is 0 if the node does not exist. */
static int read_feature(struct vread_device *dev, const char *node, u32 *ret)
{
	*ret = 0;
	if (!xenbus_exists(XBT_NIL, dev->otherend, node))
		return 0;
	return read_number(dev, node, 0, 1, ret);
}

static int read_versions(struct vread_device *dev)
{
	char *text = read_offer(dev, VREAD_NODE_VERSIONS);
	int err = 0;

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		return PTR_ERR(text);
	if (IS_ERR(text) || !vread_offers_version(text, VREAD_PROTOCOL_VERSION)) {
		err = -EPROTONOSUPPORT;
		xenbus_dev_fatal(dev->xbdev, err, "%s/versions is \"%.32s\": version %u is needed",
				 dev->otherend, IS_ERR(text) ? "" : text, VREAD_PROTOCOL_VERSION);
	}
	if (!IS_ERR(text))
		kfree(text);
	return err;
}

static int read_role(struct vread_device *dev, const char **ret)
{
	char *text = read_offer(dev, VREAD_NODE_ROLE);
	int err = 0;

	*ret = "client";
	if (IS_ERR(text))
		return PTR_ERR(text) == -ENOENT ? 0 : PTR_ERR(text);
	*ret = vread_parse_role(text);
	if (!*ret) {
		err = -EINVAL;
		xenbus_dev_fatal(dev->xbdev, err,
				 "%s/role is \"%.32s\": must be client or datanode", dev->otherend,
				 text);
	}
	kfree(text);
	return err;
}

static unsigned int wanted_queues(void)
{
	return params->queues ? params->queues : min(num_online_cpus(), 4U);
}

/* Sets *terms to what this module wants, as far as the backend offers it. */
static int negotiate(struct vread_device *dev, struct vread_terms *terms)
{
	u32 wanted_pages = params->pool_mib << (20 - PAGE_SHIFT);
	int err;

	err = read_versions(dev);
	if (!err)
		err = read_number(dev, VREAD_NODE_MAX_QUEUES, 1, VREAD_MAX_QUEUES, &terms->queues);
	if (!err)
		err = read_number(dev, VREAD_NODE_MAX_RING_PAGE_ORDER, 0, VREAD_MAX_RING_PAGE_ORDER,
				  &terms->ring_order);
	if (!err)
		err = read_number(dev, VREAD_NODE_MAX_POOL_PAGES, VREAD_MIN_POOL_PAGES,
				  VREAD_MAX_POOL_PAGES, &terms->pool_pages);
	if (!err)
		err = read_role(dev, &terms->role);
	if (!err)
		err = read_feature(dev, VREAD_NODE_FEATURE_PUBLISH, &terms->events);
	if (!err)
		err = read_feature(dev, VREAD_NODE_FEATURE_USER, &terms->user);
	if (err)
		return err;

	terms->queues = min(terms->queues, wanted_queues());
	terms->ring_order = min(terms->ring_order, params->ring_order);
	if (!dev->pool) {
		terms->pool_pages = min(terms->pool_pages, wanted_pages);
	} else if (terms->pool_pages < dev->pool->pages) {
		xenbus_dev_fatal(dev->xbdev, -ENOSPC,
				 "%s/max-pool-pages is %u: the pool already has %u pages; load the "
				 "module again",
				 dev->otherend, terms->pool_pages, dev->pool->pages);
		return -ENOSPC;
	} else {
		terms->pool_pages = dev->pool->pages;
	}
	return 0;
}

/* ---- connecting ---- */

/* The pool is smaller than *pages if the guest is short of grants or memory; sets *pages. */
static struct vread_pool *create_pool(struct vread_device *dev, u32 *pages)
{
	struct vread_pool *pool;
	u32 wanted = *pages;

	for (;; *pages /= 2) {
		pool = vread_pool_create(dev->xbdev->otherend_id, *pages);
		if (!IS_ERR(pool) || *pages < 2 * SMALLEST_POOL_PAGES)
			break;
	}
	if (IS_ERR(pool))
		xenbus_dev_fatal(dev->xbdev, PTR_ERR(pool), "sharing a pool of %u pages", *pages);
	else if (*pages < wanted)
		vread_info(dev, "short of grants or memory: pool of %u pages instead of %u", *pages,
			   wanted);
	return pool;
}

static int add_node(struct vread_device *dev, struct vread_node *node, const char *suffix,
		    umode_t mode)
{
	int err;

	snprintf(node->name, sizeof(node->name), "%s%s", dev->name, suffix);
	node->dev = dev;
	node->publishes = *suffix;
	node->misc.minor = MISC_DYNAMIC_MINOR;
	node->misc.name = node->name;
	node->misc.fops = &vread_fops;
	node->misc.parent = &dev->xbdev->dev;
	node->misc.mode = mode;
	err = misc_register(&node->misc);
	node->added = !err;
	return err;
}

static void remove_node(struct vread_node *node)
{
	if (node->added)
		misc_deregister(&node->misc);
	node->added = false;
}

/* Clients have no node for publishers.  Without that node a device still reads. */
static void add_publish_node(struct vread_device *dev)
{
	int err;

	if (!dev->takes_events || dev->publish_node.added)
		return;
	err = add_node(dev, &dev->publish_node, "-publish", 0600);
	if (err)
		vread_err(dev, "cannot make /dev/%s: %d", dev->publish_node.name, err);
}

static int prepare(struct vread_device *dev, struct vread_terms *terms)
{
	struct vread_pool *pool;
	int err;

	if (!dev->pool) {
		pool = create_pool(dev, &terms->pool_pages);
		if (IS_ERR(pool))
			return PTR_ERR(pool);
		smp_store_release(&dev->pool, pool);
	}
	err = vread_link_open(dev, terms->queues, terms->ring_order);
	if (err)
		return err;
	WRITE_ONCE(dev->role, terms->role);
	WRITE_ONCE(dev->takes_events, terms->events && !strcmp(terms->role, "datanode"));
	WRITE_ONCE(dev->takes_user, terms->user);
	add_publish_node(dev);
	return 0;
}

static int publish_queue(struct vread_device *dev, struct xenbus_transaction t,
			 const struct vread_queue *q)
{
	char node[32];
	unsigned int n;
	int err;

	for (n = 0; n < q->pages; n++) {
		snprintf(node, sizeof(node), VREAD_NODE_RING_REF, q->index, n);
		err = xenbus_printf(t, dev->xbdev->nodename, node, "%u", q->gref[n]);
		if (err)
			return err;
	}
	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, q->index);
	return xenbus_printf(t, dev->xbdev->nodename, node, "%u", q->port);
}

static int publish_nodes(struct vread_device *dev, struct xenbus_transaction t,
			 const struct vread_terms *terms)
{
	const struct {
		const char *node;
		unsigned int value;
	} numbers[] = {
		{VREAD_NODE_VERSION, VREAD_PROTOCOL_VERSION},
		{VREAD_NODE_NUM_QUEUES, terms->queues},
		{VREAD_NODE_RING_PAGE_ORDER, terms->ring_order},
		{VREAD_NODE_POOL_PAGES, terms->pool_pages},
		{VREAD_NODE_POOL_DIRECTORY, vread_pool_directory(dev->pool)},
	};
	const char *dir = dev->xbdev->nodename;
	unsigned int n;
	int err;

	err = xenbus_write(t, dir, VREAD_NODE_ROLE, terms->role);
	for (n = 0; !err && n < ARRAY_SIZE(numbers); n++)
		err = xenbus_printf(t, dir, numbers[n].node, "%u", numbers[n].value);
	for (n = 0; !err && n < terms->queues; n++)
		err = publish_queue(dev, t, &dev->queue[n]);
	return err;
}

static int publish(struct vread_device *dev, const struct vread_terms *terms)
{
	struct xenbus_transaction t;
	int err;

	do {
		err = xenbus_transaction_start(&t);
		if (err)
			break;
		err = publish_nodes(dev, t, terms);
		if (err) {
			xenbus_transaction_end(t, 1);
			break;
		}
		err = xenbus_transaction_end(t, 0);
	} while (err == -EAGAIN);
	if (err == -ENOSPC)
		xenbus_dev_fatal(dev->xbdev, err,
				 "publishing %s: this guest's quota of xenstore nodes is used up",
				 dev->xbdev->nodename);
	else if (err)
		xenbus_dev_fatal(dev->xbdev, err, "publishing %s", dev->xbdev->nodename);
	return err;
}

static void count_failure(struct vread_device *dev)
{
	if (time_after(jiffies, dev->last_failure + FAILURE_PERIOD))
		dev->failures = 0;
	dev->last_failure = jiffies;
	if (++dev->failures == MAX_FAILURES)
		vread_err(dev, "%u failed connections; staying closed", MAX_FAILURES);
}

static bool gave_up(const struct vread_device *dev)
{
	return dev->failures >= MAX_FAILURES &&
	       !time_after(jiffies, dev->last_failure + FAILURE_PERIOD);
}

static void connect(struct vread_device *dev)
{
	struct vread_terms terms = {};

	if (gave_up(dev))
		return;
	/* A backend in InitWait has nothing mapped. */
	if (dev->pool)
		vread_pool_unmapped(dev->pool);
	if (negotiate(dev, &terms) || prepare(dev, &terms)) {
		count_failure(dev);
		return;
	}
	if (publish(dev, &terms)) {
		vread_link_close(dev);
		count_failure(dev);
		return;
	}
	dev->phase = VREAD_PHASE_OFFERED;
	xenbus_switch_state(dev->xbdev, XenbusStateInitialised);
}

static void go_connected(struct vread_device *dev)
{
	if (!vread_link_alive(dev)) {
		vread_info(dev, "the backend died before it was connected; waiting for it");
		return;
	}
	dev->phase = VREAD_PHASE_CONNECTED;
	vread_link_up(dev);
	xenbus_switch_state(dev->xbdev, XenbusStateConnected);
	vread_info(dev, "connected to domain %d as %s: %u queues of %u requests, pool of %u pages",
		   dev->xbdev->otherend_id, dev->role, dev->num_queues,
		   RING_SIZE(&dev->queue[0].ring), dev->pool->pages);
}

/* ---- disconnecting ---- */

/* unmapped: see vread_link_down(). */
static void take_down(struct vread_device *dev, bool unmapped)
{
	bool was_up = READ_ONCE(dev->up);

	vread_link_down(dev, unmapped);
	if (was_up)
		vread_info(dev, "disconnected");
}

static void disconnect(struct vread_device *dev, bool unmapped)
{
	take_down(dev, unmapped);
	vread_link_close(dev);
	dev->phase = VREAD_PHASE_IDLE;
	WRITE_ONCE(dev->faulty, false);
}

static void begin_close(struct vread_device *dev)
{
	count_failure(dev);
	take_down(dev, false);
	dev->phase = VREAD_PHASE_CLOSING;
	xenbus_switch_state(dev->xbdev, XenbusStateClosing);
}

/* The backend closes.  Its Closed says that it has unmapped the rings.  Their pages wait for that,
 * because then they are free at once. */
static void follow_close(struct vread_device *dev)
{
	if (dev->phase != VREAD_PHASE_IDLE) {
		take_down(dev, false);
		dev->phase = VREAD_PHASE_CLOSING;
	}
	xenbus_frontend_closed(dev->xbdev);
}

static void finish_close(struct vread_device *dev)
{
	bool idle = dev->phase == VREAD_PHASE_IDLE;

	if (!idle)
		disconnect(dev, true);
	else if (dev->pool)
		vread_pool_unmapped(dev->pool);
	/* Initialising stays: with this state a new frontend asks for a connection. */
	if (!idle || dev->xbdev->state == XenbusStateClosing)
		xenbus_frontend_closed(dev->xbdev);
}

/* ---- one step ---- */

static void step(struct vread_device *dev)
{
	if (READ_ONCE(dev->faulty) &&
	    (dev->phase == VREAD_PHASE_OFFERED || dev->phase == VREAD_PHASE_CONNECTED))
		begin_close(dev);
	/* The event of a backend's death may be lost. */
	if (dev->phase == VREAD_PHASE_CONNECTED)
		vread_link_check(dev);

	switch (READ_ONCE(dev->backend_state)) {
	case XenbusStateInitWait:
		if (dev->phase == VREAD_PHASE_OFFERED)
			break;
		if (dev->phase != VREAD_PHASE_IDLE)
			finish_close(dev); /* the backend was Closed too briefly to be seen */
		/* Closing: this end refused the offer, and the backend has yet to close. */
		if (dev->xbdev->state != XenbusStateClosing)
			connect(dev);
		break;
	case XenbusStateConnected:
		if (dev->phase == VREAD_PHASE_OFFERED)
			go_connected(dev);
		break;
	case XenbusStateClosing:
		follow_close(dev);
		break;
	case XenbusStateClosed:
		finish_close(dev);
		break;
	default:
		break;
	}
}

/* insmod waits up to five minutes for devices whose state is below Connected.  This module must not
 * delay insmod.  So until insmod is done, the state in memory, not in xenstore, is Closed. */
static void hide_state(struct vread_device *dev)
{
	dev->state_hidden = true;
	dev->xbdev->state = XenbusStateClosed;
}

static void show_state(struct vread_device *dev)
{
	if (dev->state_hidden)
		dev->xbdev->state = XenbusStateInitialising;
	dev->state_hidden = false;
}

/* Brings the device into the phase that the backend's state and the link require. */
static void device_work(struct work_struct *work)
{
	struct vread_device *dev = container_of(work, struct vread_device, work);

	wait_for_completion(&registered);
	if (READ_ONCE(dev->gone))
		return; /* remove_device() is running */
	show_state(dev);
	step(dev);
}

static void backend_changed(struct xenbus_device *xbdev, enum xenbus_state state)
{
	struct vread_device *dev = dev_get_drvdata(&xbdev->dev);

	WRITE_ONCE(dev->backend_state, state);
	queue_work(system_long_wq, &dev->work);
}

/* ---- probe, remove, resume ---- */

/* device/vread/0 is /dev/vread, device/vread/1 is /dev/vread1. */
static int name_device(struct vread_device *dev, const char *nodename)
{
	u32 id;
	int err;

	err = vread_parse_number(kbasename(nodename), 0, 65535, &id);
	if (err)
		return err;
	if (id)
		snprintf(dev->name, sizeof(dev->name), "vread%u", id);
	else
		strscpy(dev->name, "vread", sizeof(dev->name));
	return 0;
}

static int vread_probe(struct xenbus_device *xbdev, const struct xenbus_device_id *id)
{
	struct vread_device *dev;
	int err;

	dev = vread_device_create(device_work);
	if (!dev)
		return -ENOMEM;
	dev->xbdev = xbdev;
	dev->otherend = kstrdup(xbdev->otherend, GFP_KERNEL);
	err = dev->otherend ? name_device(dev, xbdev->nodename) : -ENOMEM;
	if (!err)
		err = add_node(dev, &dev->node, "", 0660);
	if (err) {
		vread_device_put(dev);
		return err;
	}
	dev_set_drvdata(&xbdev->dev, dev);
	xenbus_switch_state(xbdev, XenbusStateInitialising);
	hide_state(dev);
	return 0;
}

/* True if the backend has unmapped everything. */
static bool backend_done(const struct vread_device *dev)
{
	/* Read the alive byte before the state: a backend that closes in order changes its state
	 * before it unmaps. */
	bool died = dev->phase == VREAD_PHASE_CONNECTED && !vread_link_alive(dev);

	switch (xenbus_read_driver_state(dev->otherend)) {
	case XenbusStateInitWait:
		return dev->phase != VREAD_PHASE_OFFERED; /* offered: the backend is about to map */
	case XenbusStateConnected:
		return died;
	case XenbusStateClosing:
		return false;
	default:
		return true;
	}
}

/* Gives the backend CLOSE_TIMEOUT_MS to finish and unmap, so that the pages are free at once. */
static void close_gracefully(struct vread_device *dev)
{
	unsigned int waited, nap = 10;

	if (dev->xbdev->state != XenbusStateClosed)
		xenbus_switch_state(dev->xbdev, XenbusStateClosing);
	for (waited = 0; waited < CLOSE_TIMEOUT_MS; waited += nap) {
		if (backend_done(dev))
			return;
		nap = min(2 * nap, 200U);
		msleep(nap);
	}
	vread_info(dev, "the backend did not close within %u s", CLOSE_TIMEOUT_MS / 1000);
}

static void remove_device(struct xenbus_device *xbdev)
{
	struct vread_device *dev = dev_get_drvdata(&xbdev->dev);

	remove_node(&dev->node);
	WRITE_ONCE(dev->gone, true);
	cancel_work_sync(&dev->work);
	remove_node(&dev->publish_node);
	show_state(dev);
	vread_link_down(dev, false);
	if (dev->phase != VREAD_PHASE_IDLE)
		close_gracefully(dev);
	disconnect(dev, false);
	/* An event handler that ran until now may have queued the work. */
	cancel_work_sync(&dev->work);
	if (dev->pool)
		vread_pool_revoke(dev->pool);
	vread_link_wake_all(dev);
	dev_set_drvdata(&xbdev->dev, NULL);
	vread_device_put(dev);
}

static int remove_device_int(struct xenbus_device *xbdev)
{
	remove_device(xbdev);
	return 0;
}

/* After a restore or migration, no grant or event channel of before exists any more, and the
 * backend may be another one.  xenbus sets the watch after this call, and the watch starts the
 * connection. */
static int vread_resume(struct xenbus_device *xbdev)
{
	struct vread_device *dev = dev_get_drvdata(&xbdev->dev);
	char *otherend;
	int err = 0;

	cancel_work_sync(&dev->work);
	disconnect(dev, true);
	dev->state_hidden = false;
	WRITE_ONCE(dev->backend_state, XenbusStateUnknown);
	otherend = kstrdup(xbdev->otherend, GFP_KERNEL);
	if (!otherend)
		return -ENOMEM;
	kfree(dev->otherend);
	dev->otherend = otherend;
	if (dev->pool)
		err = vread_pool_regrant(dev->pool, xbdev->otherend_id);
	if (err)
		vread_err(dev, "cannot share the pool with domain %d again: %d", xbdev->otherend_id,
			  err);
	return err;
}

static const struct xenbus_device_id vread_ids[] = {
	{VREAD_DEVICE_TYPE},
	{""},
};

static struct xenbus_driver vread_driver = {
	.name = "vread",
	.ids = vread_ids,
	.probe = vread_probe,
	.remove = VREAD_XENBUS_REMOVE(remove_device, remove_device_int),
	.resume = vread_resume,
	.otherend_changed = backend_changed,
};

int vread_xenbus_register(const struct vread_params *module_params)
{
	int err = vread_suspend_register(&vread_driver);

	if (err)
		return err;
	params = module_params;
	/* Registered without an owner.  With one, xenbus would hold the module as long as a device
	 * exists, and rmmod could never close a device.  Open files hold the module instead. */
	err = __xenbus_register_frontend(&vread_driver, NULL, KBUILD_MODNAME);
	if (err)
		vread_suspend_unregister();
	complete_all(&registered);
	return err;
}

void vread_xenbus_unregister(void)
{
	vread_suspend_unregister();
	xenbus_unregister_driver(&vread_driver);
}
