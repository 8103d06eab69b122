/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attach.h - what a transport does for its devices: how a device shares rings with its backend,
 * sends events, and exchanges offer, answer and states.  Each transport, which is a module of its
 * own, has one struct vread_attachment.
 *
 * Each device has one attachment for its whole life.
 */
#ifndef VREAD_ATTACH_H
#define VREAD_ATTACH_H

#include <linux/interrupt.h>
#include <linux/types.h>
#include <xen/interface/io/xenbus.h>

struct module;
struct vread_device;
struct vread_params;
struct vread_pool;
struct vread_queue;

/* The terms of a connection. */
struct vread_terms {
	u32 queues;
	u32 ring_order;
	u32 pool_pages;
	u32 events; /* the backend's feature-publish */
	u32 user;   /* the backend's feature-user */
	const char *role;
};

struct vread_attachment {
	struct module *owner; /* THIS_MODULE: open files of the device hold it */
	const struct vread_params *params;

	/* ---- a queue.  Process context, except notify and event_done: any context ---- */

	/* Sets q->sring to 1 << order pages of zeros that are shared with the backend.  0 or
	 * negative errno. */
	int (*share_ring)(struct vread_queue *q, unsigned int order);
	/* Ends the sharing, and frees the pages as soon as the backend has let go of them. */
	void (*unshare_ring)(struct vread_queue *q);
	/* Calls handler, with q as its argument, for each event of the backend.  0 or negative
	 * errno. */
	int (*bind)(struct vread_queue *q, irq_handler_t handler);
	/* No handler runs after this call. */
	void (*unbind)(struct vread_queue *q);
	/* Sends an event to the backend.  Between bind and unbind. */
	void (*notify)(struct vread_queue *q);
	/* The handler has dealt with an event of irq.  spurious: there was nothing to do. */
	void (*event_done)(int irq, bool spurious);

	/* ---- the connection.  Process context, with dev->step held ---- */

	/* The work is about to take a step.  False: it is too early, and the attachment queues the
	 * work again.  NULL: it is never too early. */
	bool (*begin_step)(struct vread_device *dev);
	/* Sets *terms to the most that the backend offers.  0, or negative errno, which it has
	 * reported as fail does. */
	int (*read_offer)(struct vread_device *dev, struct vread_terms *terms);
	/* Makes a pool that is shared with the backend.  ERR_PTR: -ENOMEM; -ENOSPC: the guest
	 * cannot share so many pages. */
	struct vread_pool *(*share_pool)(struct vread_device *dev, unsigned int pages);
	/* Tells the backend the terms, the rings, the event channels and the pool.  0, or negative
	 * errno, which it has reported as fail does. */
	int (*answer)(struct vread_device *dev, const struct vread_terms *terms);
	/* No backend is connected.  True if none has the pool mapped any more, whatever it has
	 * told: the pages may be used for something else.  Called when the pool has been shared. */
	bool (*let_go)(struct vread_device *dev);
	/* The backend's state; Unknown if the backend has told none. */
	enum xenbus_state (*backend_state)(struct vread_device *dev);
	enum xenbus_state (*own_state)(struct vread_device *dev);
	void (*set_state)(struct vread_device *dev, enum xenbus_state state);
	/* Reports to the log, and to the backend's host if possible, why there is no connection,
	 * and sets the state to Closing. */
	void (*fail)(struct vread_device *dev, int err, const char *why);

	/* Frees the device, whose pool is freed. */
	void (*free)(struct vread_device *dev);
};

#endif
