// SPDX-License-Identifier: GPL-2.0
/*
 * Implements connect.h.
 *
 * Each step looks at the present state of the backend and not at events, because watches of
 * xenstore fire early, twice and late.
 *
 * A backend that breaks the protocol or makes an invalid offer is disconnected.  After
 * MAX_FAILURES failures, each within a minute of the one before, the device stays closed for a
 * minute.  Then it tries again by itself: the guest may have been short of grants or memory, and
 * the backend, which waits with its offer, does not know.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "chardev.h"
#include "check.h"
#include "connect.h"
#include "device.h"
#include "link.h"
#include "params.h"
#include "trace.h"

#define MAX_FAILURES 8
#define FAILURE_PERIOD (60 * HZ)
#define SMALLEST_POOL_PAGES 256U /* a pool is not halved below this */
#define CLOSE_TIMEOUT_MS 10000

/* ---- nodes in /dev ---- */

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
	node->misc.parent = dev->parent;
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

int vread_connect_add(struct vread_device *dev, u32 id)
{
	if (id)
		snprintf(dev->name, sizeof(dev->name), "vread%u", id);
	else
		strscpy(dev->name, "vread", sizeof(dev->name));
	return add_node(dev, &dev->node, "", 0660);
}
EXPORT_SYMBOL_GPL(vread_connect_add);

/* ---- connecting ---- */

static unsigned int wanted_queues(const struct vread_params *params)
{
	return params->queues ? params->queues : min(num_online_cpus(), 4U);
}

/* The pool that there is stays, because processes have mapped it. */
static int keep_pool(struct vread_device *dev, struct vread_terms *terms)
{
	char why[96];

	if (terms->pool_pages >= dev->pool->pages) {
		terms->pool_pages = dev->pool->pages;
		return 0;
	}
	snprintf(why, sizeof(why),
		 "%u pages are offered: the pool already has %u pages; load the module again",
		 terms->pool_pages, dev->pool->pages);
	dev->attach->fail(dev, -ENOSPC, why);
	return -ENOSPC;
}

/* Sets *terms to what this module wants, as far as the backend offers it. */
static int negotiate(struct vread_device *dev, struct vread_terms *terms)
{
	const struct vread_params *params = dev->attach->params;
	int err = dev->attach->read_offer(dev, terms);

	if (err)
		return err;
	terms->queues = min(terms->queues, wanted_queues(params));
	terms->ring_order = min(terms->ring_order, params->ring_order);
	if (dev->pool)
		return keep_pool(dev, terms);
	terms->pool_pages =
		min(terms->pool_pages, params->pool_mib * (u32)(SZ_1M / VREAD_PAGE_SIZE));
	return 0;
}

/* The pool is smaller than *pages if the guest is short of grants or memory; sets *pages. */
static int create_pool(struct vread_device *dev, u32 *pages)
{
	struct vread_pool *pool;
	u32 wanted = *pages;
	char why[48];

	for (;; *pages /= 2) {
		pool = dev->attach->share_pool(dev, *pages);
		if (!IS_ERR(pool) || *pages < 2 * SMALLEST_POOL_PAGES)
			break;
	}
	if (IS_ERR(pool)) {
		snprintf(why, sizeof(why), "sharing a pool of %u pages", *pages);
		dev->attach->fail(dev, PTR_ERR(pool), why);
		return PTR_ERR(pool);
	}
	if (*pages < wanted)
		vread_info(dev, "short of grants or memory: pool of %u pages instead of %u", *pages,
			   wanted);
	vread_shares_set(&dev->shares, VREAD_SHARE_CONTROL, pool->control_pages,
			 pool->control_pages / 8);
	vread_shares_set(&dev->shares, VREAD_SHARE_SLICES, vread_pool_slice_pages(pool),
			 pool->small_pages / 7);
	smp_store_release(&dev->pool, pool); /* a reader of dev->pool sees a complete pool */
	return 0;
}

static int prepare(struct vread_device *dev, struct vread_terms *terms)
{
	int err = dev->pool ? 0 : create_pool(dev, &terms->pool_pages);

	if (err)
		return err;
	err = vread_link_open(dev, terms->queues, terms->ring_order);
	if (err) {
		dev->attach->fail(dev, err, "sharing rings and events");
		return err;
	}
	WRITE_ONCE(dev->role, terms->role);
	WRITE_ONCE(dev->takes_events, terms->events && !strcmp(terms->role, "datanode"));
	WRITE_ONCE(dev->takes_user, terms->user);
	add_publish_node(dev);
	return 0;
}

static void count_failure(struct vread_device *dev)
{
	if (time_after(jiffies, dev->last_failure + FAILURE_PERIOD))
		dev->failures = 0;
	dev->last_failure = jiffies;
	if (++dev->failures == MAX_FAILURES)
		vread_err(dev, "%u failed connections; staying closed for a minute", MAX_FAILURES);
}

static bool gave_up(const struct vread_device *dev)
{
	return dev->failures >= MAX_FAILURES &&
	       !time_after(jiffies, dev->last_failure + FAILURE_PERIOD);
}

/* True: nobody has the pool mapped, and its pages that were in quarantine are free.  The link is
 * down. */
static bool take_back(struct vread_device *dev)
{
	if (dev->pool) {
		if (!dev->attach->let_go(dev))
			return false;
		vread_pool_unmapped(dev->pool);
	}
	return true;
}

/* Nobody tells when the last mapping of the pool goes. */
static void try_later(struct vread_device *dev)
{
	queue_delayed_work(system_long_wq, &dev->retry, HZ);
}

static void connect(struct vread_device *dev)
{
	struct vread_terms terms = {};

	if (gave_up(dev)) {
		queue_delayed_work(system_long_wq, &dev->retry, FAILURE_PERIOD + HZ);
		return;
	}
	/* A backend in InitWait has nothing mapped.  One that was killed before may have. */
	if (!take_back(dev)) {
		if (!dev->said_waiting)
			vread_info(dev, "an earlier backend still has the pool mapped; waiting");
		dev->said_waiting = true;
		try_later(dev);
		return;
	}
	if (negotiate(dev, &terms) || prepare(dev, &terms)) {
		count_failure(dev);
		return;
	}
	if (dev->attach->answer(dev, &terms)) {
		vread_link_close(dev);
		count_failure(dev);
		return;
	}
	dev->phase = VREAD_PHASE_OFFERED;
	dev->attach->set_state(dev, XenbusStateInitialised);
}

static void go_connected(struct vread_device *dev)
{
	if (!vread_link_alive(dev)) {
		vread_info(dev, "the backend died before it was connected; waiting for it");
		return;
	}
	dev->phase = VREAD_PHASE_CONNECTED;
	dev->said_waiting = false;
	vread_link_up(dev);
	vread_link_recheck(dev); /* an event of its death before queue 0 was live told nothing */
	dev->attach->set_state(dev, XenbusStateConnected);
	vread_info(dev, "connected to %s as %s: %u queues of %u requests, pool of %u pages",
		   dev->host, dev->role, dev->num_queues, RING_SIZE(&dev->queue[0].ring),
		   dev->pool->pages);
}

/* ---- disconnecting ---- */

static void take_down(struct vread_device *dev)
{
	bool was_up = READ_ONCE(dev->up);

	vread_link_down(dev);
	if (was_up)
		vread_info(dev, "disconnected");
}

static void disconnect(struct vread_device *dev)
{
	take_down(dev);
	vread_link_close(dev);
	dev->phase = VREAD_PHASE_IDLE;
	WRITE_ONCE(dev->faulty, false);
}

static void begin_close(struct vread_device *dev)
{
	take_down(dev);
	dev->phase = VREAD_PHASE_CLOSING;
	dev->attach->set_state(dev, XenbusStateClosing);
}

/* The backend closes.  Its Closed says that it has unmapped the rings.  Their pages wait for that,
 * because then they are free at once. */
static void follow_close(struct vread_device *dev)
{
	if (dev->phase != VREAD_PHASE_IDLE) {
		take_down(dev);
		dev->phase = VREAD_PHASE_CLOSING;
	}
	dev->attach->set_state(dev, XenbusStateClosed);
}

static void finish_close(struct vread_device *dev)
{
	bool idle = dev->phase == VREAD_PHASE_IDLE;

	if (!idle)
		disconnect(dev);
	if (!take_back(dev))
		try_later(dev);
	/* Initialising stays: with this state a new frontend asks for a connection. */
	if (!idle || dev->attach->own_state(dev) == XenbusStateClosing)
		dev->attach->set_state(dev, XenbusStateClosed);
}

/* ---- one step ---- */

static void take_step(struct vread_device *dev)
{
	enum xenbus_state backend;

	if (READ_ONCE(dev->faulty) &&
	    (dev->phase == VREAD_PHASE_OFFERED || dev->phase == VREAD_PHASE_CONNECTED)) {
		count_failure(dev);
		begin_close(dev);
	}
	/* The event of a backend's death may be lost. */
	if (dev->phase == VREAD_PHASE_CONNECTED)
		vread_link_check(dev);
	/* It died.  Its ring was unmapped first, so the pool may be mapped a little longer. */
	if (dev->phase == VREAD_PHASE_CONNECTED && !dev->up && !take_back(dev))
		try_later(dev);

	backend = dev->attach->backend_state(dev);
	trace_vread_step(dev->name, dev->phase, backend, dev->attach->own_state(dev));
	switch (backend) {
	case XenbusStateInitWait:
		if (dev->phase == VREAD_PHASE_OFFERED)
			break;
		if (dev->phase != VREAD_PHASE_IDLE)
			finish_close(dev); /* the backend was Closed too briefly to be seen */
		/* Closing: this end refused the offer, and the backend has yet to close. */
		if (dev->attach->own_state(dev) != XenbusStateClosing)
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

void vread_connect_work(struct work_struct *work)
{
	struct vread_device *dev = container_of(work, struct vread_device, work);
	enum vread_phase before;

	mutex_lock(&dev->step);
	if (!dev->held && (!dev->attach->begin_step || dev->attach->begin_step(dev))) {
		before = dev->phase;
		take_step(dev);
		/* A connection has ended.  No event tells of an offer that is there already. */
		if (before != VREAD_PHASE_IDLE && dev->phase == VREAD_PHASE_IDLE)
			take_step(dev);
	}
	mutex_unlock(&dev->step);
}
EXPORT_SYMBOL_GPL(vread_connect_work);

/* ---- beginning, sleeping and ending ---- */

/* True if the backend has unmapped everything. */
static bool backend_done(struct vread_device *dev)
{
	/* Read the alive byte before the state: a backend that closes in order changes its state
	 * before it unmaps. */
	bool died = dev->phase == VREAD_PHASE_CONNECTED && !vread_link_alive(dev);

	switch (dev->attach->backend_state(dev)) {
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

	if (dev->attach->own_state(dev) != XenbusStateClosed)
		dev->attach->set_state(dev, XenbusStateClosing);
	for (waited = 0; waited < CLOSE_TIMEOUT_MS; waited += nap) {
		if (backend_done(dev))
			return;
		nap = min(2 * nap, 200U);
		msleep(nap);
	}
	vread_info(dev, "the backend did not close within %u s", CLOSE_TIMEOUT_MS / 1000);
}

void vread_connect_hold(struct vread_device *dev)
{
	mutex_lock(&dev->step);
	dev->held = true;
	mutex_unlock(&dev->step);
	cancel_delayed_work_sync(&dev->retry);
}
EXPORT_SYMBOL_GPL(vread_connect_hold);

void vread_connect_release(struct vread_device *dev)
{
	mutex_lock(&dev->step);
	dev->held = false;
	mutex_unlock(&dev->step);
	queue_work(system_long_wq, &dev->work);
}
EXPORT_SYMBOL_GPL(vread_connect_release);

void vread_connect_wake(struct vread_device *dev, bool known)
{
	mutex_lock(&dev->step);
	if (dev->phase != VREAD_PHASE_IDLE && known)
		begin_close(dev);
	else
		disconnect(dev);
	mutex_unlock(&dev->step);
}
EXPORT_SYMBOL_GPL(vread_connect_wake);

void vread_connect_pause(struct vread_device *dev)
{
	mutex_lock(&dev->step);
	vread_link_down(dev);
	if (dev->phase != VREAD_PHASE_IDLE)
		close_gracefully(dev);
	disconnect(dev);
	mutex_unlock(&dev->step);
}
EXPORT_SYMBOL_GPL(vread_connect_pause);

void vread_connect_stop(struct vread_device *dev)
{
	remove_node(&dev->node);
	WRITE_ONCE(dev->gone, true);
	vread_connect_hold(dev);
	remove_node(&dev->publish_node);
}
EXPORT_SYMBOL_GPL(vread_connect_stop);

void vread_connect_end(struct vread_device *dev)
{
	vread_connect_pause(dev);
	vread_link_wake_all(dev);
}
EXPORT_SYMBOL_GPL(vread_connect_end);
