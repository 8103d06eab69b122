// SPDX-License-Identifier: GPL-2.0
/*
 * xen-vreadfront: the transport of Xen.  Offer, answer and states are nodes in xenstore, rings and
 * pool are granted pages, and events are event channels.
 *
 * The xenstore watch only queues the device's work, which looks at the backend's present state.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <xen/events.h>
#include <xen/platform_pci.h>
#include <xen/xen.h>
#include <xen/xenbus.h>

#include "core/check.h"
#include "core/connect.h"
#include "core/device.h"
#include "core/params.h"
#include "grant.h"
#include "suspend.h"
#include "vread-nodes.h"

VREAD_MODULE_PARAMS(params);

static bool registered; /* insmod no longer looks at the states of the devices */

struct xen_queue {
	struct vread_ring_grants ring;
	evtchn_port_t port;
	unsigned int irq;
	char irq_name[32];
};

struct xen_device {
	struct vread_device dev;
	struct xenbus_device *xbdev;
	char *otherend;    /* a copy, because kernels differ in how long xbdev's lives */
	bool watched;      /* the watch of otherend has fired */
	bool state_hidden; /* see hide_state() */
	struct vread_pool_grants pool;
	struct xen_queue queue[VREAD_MAX_QUEUES];
};

static struct xen_device *to_xen(struct vread_device *dev)
{
	return container_of(dev, struct xen_device, dev);
}

/* ---- rings and events ---- */

static struct xen_queue *queue_of(struct vread_queue *q)
{
	return &to_xen(q->dev)->queue[q->index];
}

static int share_ring(struct vread_queue *q, unsigned int order)
{
	struct xen_queue *xq = queue_of(q);
	int err = vread_grant_ring(&xq->ring, to_xen(q->dev)->xbdev->otherend_id, order);

	if (!err)
		q->sring = xq->ring.ring;
	return err;
}

static void unshare_ring(struct vread_queue *q)
{
	vread_ungrant_ring(&queue_of(q)->ring);
}

static int bind_events(struct vread_queue *q, irq_handler_t handler)
{
	struct xenbus_device *xbdev = to_xen(q->dev)->xbdev;
	struct xen_queue *xq = queue_of(q);
	int ret;

	ret = xenbus_alloc_evtchn(xbdev, &xq->port);
	if (ret)
		return ret;
	snprintf(xq->irq_name, sizeof(xq->irq_name), "%s-q%u", dev_name(&xbdev->dev), q->index);
	ret = bind_evtchn_to_irqhandler_lateeoi(xq->port, handler, 0, xq->irq_name, q);
	if (ret < 0) {
		xenbus_free_evtchn(xbdev, xq->port);
		return ret;
	}
	xq->irq = ret;
	return 0;
}

static void unbind_events(struct vread_queue *q)
{
	unbind_from_irqhandler(queue_of(q)->irq, q);
}

static void notify(struct vread_queue *q)
{
	notify_remote_via_irq(queue_of(q)->irq);
}

static void event_done(int irq, bool spurious)
{
	xen_irq_lateeoi(irq, spurious ? XEN_EOI_FLAG_SPURIOUS : 0);
}

/* ---- reading the backend's offer ---- */

/* Reads a node of the backend directory; kfree() the result.  ERR_PTR; -ENOENT: no such node. */
static char *read_offer(struct xen_device *xen, const char *node)
{
	char *text = xenbus_read(XBT_NIL, xen->otherend, node, NULL);

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		xenbus_dev_fatal(xen->xbdev, PTR_ERR(text), "reading %s/%s", xen->otherend, node);
	return text;
}

static int read_number(struct xen_device *xen, const char *node, u32 min, u32 max, u32 *ret)
{
	char *text = read_offer(xen, node);
	int err = -ENOENT;

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		return PTR_ERR(text);
	if (!IS_ERR(text))
		err = vread_parse_number(text, min, max, ret);
	if (err)
		xenbus_dev_fatal(xen->xbdev, err, "%s/%s is \"%.32s\": must be %u to %u",
				 xen->otherend, node, IS_ERR(text) ? "" : text, min, max);
	if (!IS_ERR(text))
		kfree(text);
	return err;
}

/* *ret is 0 if the node does not exist. */
static int read_feature(struct xen_device *xen, const char *node, u32 *ret)
{
	*ret = 0;
	if (!xenbus_exists(XBT_NIL, xen->otherend, node))
		return 0;
	return read_number(xen, node, 0, 1, ret);
}

static int read_versions(struct xen_device *xen)
{
	char *text = read_offer(xen, VREAD_NODE_VERSIONS);
	int err = 0;

	if (IS_ERR(text) && PTR_ERR(text) != -ENOENT)
		return PTR_ERR(text);
	if (IS_ERR(text) || !vread_offers_version(text, VREAD_PROTOCOL_VERSION)) {
		err = -EPROTONOSUPPORT;
		xenbus_dev_fatal(xen->xbdev, err, "%s/versions is \"%.32s\": version %u is needed",
				 xen->otherend, IS_ERR(text) ? "" : text, VREAD_PROTOCOL_VERSION);
	}
	if (!IS_ERR(text))
		kfree(text);
	return err;
}

static int read_role(struct xen_device *xen, const char **ret)
{
	char *text = read_offer(xen, VREAD_NODE_ROLE);
	int err = 0;

	*ret = "client";
	if (IS_ERR(text))
		return PTR_ERR(text) == -ENOENT ? 0 : PTR_ERR(text);
	*ret = vread_parse_role(text);
	if (!*ret) {
		err = -EINVAL;
		xenbus_dev_fatal(xen->xbdev, err,
				 "%s/role is \"%.32s\": must be client or datanode", xen->otherend,
				 text);
	}
	kfree(text);
	return err;
}

static int read_terms(struct vread_device *dev, struct vread_terms *terms)
{
	struct xen_device *xen = to_xen(dev);
	int err;

	err = read_versions(xen);
	if (!err)
		err = read_number(xen, VREAD_NODE_MAX_QUEUES, 1, VREAD_MAX_QUEUES, &terms->queues);
	if (!err)
		err = read_number(xen, VREAD_NODE_MAX_RING_PAGE_ORDER, 0, VREAD_MAX_RING_PAGE_ORDER,
				  &terms->ring_order);
	if (!err)
		err = read_number(xen, VREAD_NODE_MAX_POOL_PAGES, VREAD_MIN_POOL_PAGES,
				  VREAD_MAX_POOL_PAGES, &terms->pool_pages);
	if (!err)
		err = read_role(xen, &terms->role);
	if (!err)
		err = read_feature(xen, VREAD_NODE_FEATURE_PUBLISH, &terms->events);
	if (!err)
		err = read_feature(xen, VREAD_NODE_FEATURE_USER, &terms->user);
	return err;
}

/* ---- answering ---- */

static struct vread_pool *share_pool(struct vread_device *dev, unsigned int pages)
{
	struct xen_device *xen = to_xen(dev);

	return vread_grant_pool(&xen->pool, xen->xbdev->otherend_id, pages);
}

/* The grant table shows what Xen knows.  A grant ends only where nobody has the page mapped. */
static bool let_go(struct vread_device *dev)
{
	struct xen_device *xen = to_xen(dev);

	return vread_regrant_pool(&xen->pool, xen->xbdev->otherend_id);
}

static int publish_queue(struct xen_device *xen, struct xenbus_transaction t, unsigned int index)
{
	const struct xen_queue *xq = &xen->queue[index];
	char node[sizeof(VREAD_NODE_RING_REF) + 2 * 10]; /* two numbers */
	unsigned int n;
	int err;

	for (n = 0; n < xq->ring.pages; n++) {
		snprintf(node, sizeof(node), VREAD_NODE_RING_REF, index, n);
		err = xenbus_printf(t, xen->xbdev->nodename, node, "%u", xq->ring.gref[n]);
		if (err)
			return err;
	}
	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, index);
	return xenbus_printf(t, xen->xbdev->nodename, node, "%u", xq->port);
}

static int publish_nodes(struct xen_device *xen, struct xenbus_transaction t,
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
		{VREAD_NODE_POOL_DIRECTORY, vread_pool_directory(&xen->pool)},
	};
	const char *dir = xen->xbdev->nodename;
	unsigned int n;
	int err;

	err = xenbus_write(t, dir, VREAD_NODE_ROLE, terms->role);
	for (n = 0; !err && n < ARRAY_SIZE(numbers); n++)
		err = xenbus_printf(t, dir, numbers[n].node, "%u", numbers[n].value);
	for (n = 0; !err && n < terms->queues; n++)
		err = publish_queue(xen, t, n);
	return err;
}

static int answer(struct vread_device *dev, const struct vread_terms *terms)
{
	struct xen_device *xen = to_xen(dev);
	struct xenbus_transaction t;
	int err;

	do {
		err = xenbus_transaction_start(&t);
		if (err)
			break;
		err = publish_nodes(xen, t, terms);
		if (err) {
			xenbus_transaction_end(t, 1);
			break;
		}
		err = xenbus_transaction_end(t, 0);
	} while (err == -EAGAIN);
	if (err == -ENOSPC)
		xenbus_dev_fatal(xen->xbdev, err,
				 "publishing %s: this guest's quota of xenstore nodes is used up",
				 xen->xbdev->nodename);
	else if (err)
		xenbus_dev_fatal(xen->xbdev, err, "publishing %s", xen->xbdev->nodename);
	return err;
}

/* ---- states ---- */

static enum xenbus_state backend_state(struct vread_device *dev)
{
	struct xen_device *xen = to_xen(dev);

	if (!READ_ONCE(xen->watched))
		return XenbusStateUnknown;
	/* Not xenbus_read_driver_state(): its parameters are others since Linux 7. */
	return xenbus_read_unsigned(xen->otherend, "state", XenbusStateUnknown);
}

static enum xenbus_state own_state(struct vread_device *dev)
{
	return to_xen(dev)->xbdev->state;
}

static void set_state(struct vread_device *dev, enum xenbus_state state)
{
	struct xenbus_device *xbdev = to_xen(dev)->xbdev;

	if (state == XenbusStateClosed)
		xenbus_frontend_closed(xbdev);
	else
		xenbus_switch_state(xbdev, state);
}

static void fail(struct vread_device *dev, int err, const char *why)
{
	xenbus_dev_fatal(to_xen(dev)->xbdev, err, "%s", why);
}

static void free_device(struct vread_device *dev)
{
	struct xen_device *xen = to_xen(dev);

	kfree(xen->otherend);
	kfree(xen);
}

/* insmod waits up to five minutes for devices whose state is below Connected.  This module must not
 * delay insmod.  So until insmod is done, the state in memory, not in xenstore, is Closed. */
static void hide_state(struct xen_device *xen)
{
	xen->state_hidden = true;
	xen->xbdev->state = XenbusStateClosed;
}

static void show_state(struct xen_device *xen)
{
	if (xen->state_hidden)
		xen->xbdev->state = XenbusStateInitialising;
	xen->state_hidden = false;
}

static bool begin_step(struct vread_device *dev)
{
	if (!smp_load_acquire(&registered)) /* pairs with vread_xenbus_register() */
		return false;
	show_state(to_xen(dev));
	return true;
}

static int queue_step(struct device *device, void *unused)
{
	struct xen_device *xen;

	device_lock(device); /* xenbus may be removing the device */
	xen = dev_get_drvdata(device);
	if (xen)
		queue_work(system_long_wq, &xen->dev.work);
	device_unlock(device);
	return 0;
}

static const struct vread_attachment attachment = {
	.owner = THIS_MODULE,
	.params = &params,
	.share_ring = share_ring,
	.unshare_ring = unshare_ring,
	.bind = bind_events,
	.unbind = unbind_events,
	.notify = notify,
	.event_done = event_done,
	.begin_step = begin_step,
	.read_offer = read_terms,
	.share_pool = share_pool,
	.answer = answer,
	.let_go = let_go,
	.backend_state = backend_state,
	.own_state = own_state,
	.set_state = set_state,
	.fail = fail,
	.free = free_device,
};

static void backend_changed(struct xenbus_device *xbdev, enum xenbus_state state)
{
	struct xen_device *xen = dev_get_drvdata(&xbdev->dev);

	WRITE_ONCE(xen->watched, true);
	queue_work(system_long_wq, &xen->dev.work);
}

/* ---- probe, remove, resume ---- */

static int vread_probe(struct xenbus_device *xbdev, const struct xenbus_device_id *id)
{
	struct xen_device *xen = kzalloc(sizeof(*xen), GFP_KERNEL);
	u32 number;
	int err;

	if (!xen)
		return -ENOMEM;
	err = vread_device_init(&xen->dev, &attachment, &xbdev->dev, vread_connect_work);
	if (err) {
		kfree(xen);
		return err;
	}
	snprintf(xen->dev.host, sizeof(xen->dev.host), "domain %d", xbdev->otherend_id);
	xen->xbdev = xbdev;
	xen->otherend = kstrdup(xbdev->otherend, GFP_KERNEL);
	err = xen->otherend ? vread_parse_number(kbasename(xbdev->nodename), 0, 65535, &number)
			    : -ENOMEM;
	if (!err)
		err = vread_connect_add(&xen->dev, number);
	if (err) {
		vread_device_put(&xen->dev);
		return err;
	}
	dev_set_drvdata(&xbdev->dev, xen);
	xenbus_switch_state(xbdev, XenbusStateInitialising);
	hide_state(xen);
	vread_connect_release(&xen->dev);
	return 0;
}

static void vread_remove(struct xenbus_device *xbdev)
{
	struct xen_device *xen = dev_get_drvdata(&xbdev->dev);

	vread_connect_stop(&xen->dev);
	show_state(xen);
	vread_connect_end(&xen->dev);
	vread_ungrant_pool(&xen->pool);
	dev_set_drvdata(&xbdev->dev, NULL);
	vread_device_put(&xen->dev);
}

/* A toolstack that restores a guest makes new nodes, whose state is Initialising. */
static bool nodes_stayed(const struct xenbus_device *xbdev)
{
	unsigned int state = xenbus_read_unsigned(xbdev->nodename, "state", XenbusStateUnknown);

	return state == XenbusStateInitialised || state == XenbusStateConnected;
}

/* After a restore or migration, no grant or event channel of before exists any more, and the
 * backend may be another one.  After a sleep without a save (S3, s2idle) all is as before, but
 * events may have been lost.  xenbus sets the watch after this call, and the watch starts the next
 * step. */
static int vread_resume(struct xenbus_device *xbdev)
{
	struct xen_device *xen = dev_get_drvdata(&xbdev->dev);
	char *otherend = kstrdup(xbdev->otherend, GFP_KERNEL | __GFP_NOFAIL);

	vread_connect_hold(&xen->dev);
	kfree(xen->otherend);
	xen->otherend = otherend;
	snprintf(xen->dev.host, sizeof(xen->dev.host), "domain %d", xbdev->otherend_id);
	xen->state_hidden = false;
	WRITE_ONCE(xen->watched, false);
	vread_connect_wake(&xen->dev, nodes_stayed(xbdev));
	vread_connect_release(&xen->dev);
	return 0;
}

static const struct xenbus_device_id vread_ids[] = {
	{VREAD_DEVICE_TYPE},
	{""},
};

static struct xenbus_driver vread_driver = {
	.name = "vread",
	.ids = vread_ids,
	.probe = vread_probe,
	.remove = vread_remove,
	.resume = vread_resume,
	.otherend_changed = backend_changed,
};

static int __init xen_vreadfront_init(void)
{
	int err;

	if (!xen_domain() || !xen_has_pv_devices())
		return -ENODEV;
	err = vread_params_check(&params);
	if (err)
		return err;
	err = vread_suspend_register(&vread_driver);
	if (err)
		return err;
	/* Registered without an owner.  With one, xenbus would hold the module as long as a device
	 * exists, and rmmod could never close a device.  Open files hold the module instead. */
	err = __xenbus_register_frontend(&vread_driver, NULL, KBUILD_MODNAME);
	if (err) {
		vread_suspend_unregister();
		return err;
	}
	smp_store_release(&registered, true); /* insmod has looked at the states */
	return driver_for_each_device(&vread_driver.driver, NULL, NULL, queue_step);
}
module_init(xen_vreadfront_init);

static void __exit xen_vreadfront_exit(void)
{
	vread_suspend_unregister();
	xenbus_unregister_driver(&vread_driver);
}
module_exit(xen_vreadfront_exit);

MODULE_DESCRIPTION("Frontend of vRead in guests of Xen: HDFS blocks read through dom0");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen:" VREAD_DEVICE_TYPE);
