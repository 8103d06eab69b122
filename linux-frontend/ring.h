/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - one queue: a ring shared with the backend and its event channel.
 *
 * A queue is opened for one connection and closed after it.  In between it is
 * live from vread_queue_start() to vread_queue_stop(); every request put on a
 * live queue is completed exactly once, by its response or by stopping.
 *
 * Nothing read from the ring is believed: indexes are kept privately, responses are
 * copied once and checked.  A violation kills the queue; vread_link_fault() then
 * ends the connection.
 */
#ifndef VREAD_RING_H
#define VREAD_RING_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <xen/grant_table.h>
#include <xen/interface/event_channel.h>

#include "vreadif.h"

struct vread_device;
struct xenbus_device;

struct vread_req {
	/* Called once, with the queue's lock held and interrupts off.  status is a
	 * checked one; rsp is NULL unless a response came. */
	void (*complete)(struct vread_req *req, int status, const struct vread_response *rsp);
	u8 operation;
	u32 max_status; /* largest status the response may carry */
};

struct vread_queue {
	struct vread_device *dev;
	unsigned int index;

	/* Of one connection; constant while it lasts. */
	struct vread_sring *sring;
	unsigned int pages;
	grant_ref_t gref[1U << VREAD_MAX_RING_PAGE_ORDER];
	evtchn_port_t port;
	unsigned int irq; /* 0: none */
	char irq_name[32];

	spinlock_t lock;
	bool live;
	u32 generation;
	struct vread_front_ring ring;
	struct vread_req **pending; /* by id; NULL: not in flight */
	u16 *free_id;
	unsigned int num_free;
};

void vread_queue_init(struct vread_queue *q, struct vread_device *dev, unsigned int index);
int vread_queue_open(struct vread_queue *q, struct xenbus_device *xbdev, unsigned int order);
void vread_queue_unbind(struct vread_queue *q); /* no event handler runs after it */
void vread_queue_close(struct vread_queue *q);

void vread_queue_start(struct vread_queue *q, u32 generation);
void vread_queue_stop(struct vread_queue *q, int status);

/* Puts a request; wire->id is filled in.  -EAGAIN: full; -ENOTCONN: not live, or not
 * in that generation. */
int vread_queue_put(struct vread_queue *q, struct vread_req *req, struct vread_request *wire,
		    u32 generation);
bool vread_queue_has_room(struct vread_queue *q);

#endif
