/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - one queue: a ring shared with the backend, and its events.  device.c initializes
 * queues.  link.c opens, starts, stops and closes them, puts requests on them and handles their
 * events.
 *
 * A queue is opened for one connection and closed after it.  It is live from vread_queue_start() to
 * vread_queue_stop().  Every request put on a live queue is completed exactly once: by its
 * response, or by vread_queue_stop().
 *
 * Nothing read from the ring is trusted.  Indexes are kept in private memory, and each response is
 * copied once and checked.  After a violation the queue is dead, and link.c ends the connection.
 */
#ifndef VREAD_RING_H
#define VREAD_RING_H

#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "attach.h"
#include "vreadif.h"

struct vread_device;
struct vread_user;

struct vread_req {
	/* Called once, with the queue's lock held and interrupts off.  status has been checked.
	 * rsp: the response; NULL: the queue was stopped. */
	void (*complete)(struct vread_req *req, int status, const struct vread_response *rsp);
	u8 operation;
	u32 max_status;          /* largest status the response may carry */
	struct vread_user *user; /* whose place on a ring it is; NULL: nobody's */
};

struct vread_queue {
	struct vread_device *dev;
	const struct vread_attachment *attach;
	const char *name; /* of the device */
	unsigned int index;

	/* Constant during a connection. */
	struct vread_sring *sring; /* NULL: no ring is shared */
	bool bound;                /* a handler is bound */

	spinlock_t lock; /* protects the members that follow */
	bool live;
	u32 generation;
	const u8 *alive; /* the alive byte, while live */
	struct vread_front_ring ring;
	struct vread_req **pending; /* by id; NULL: not in flight */
	u16 *free_id;
	unsigned int num_free;
};

/* Process context: vread_queue_open(), vread_queue_unbind() and vread_queue_close().  The other
 * functions: any context. */
/* name: of the device; it stays the caller's, as long as the queue. */
void vread_queue_init(struct vread_queue *q, struct vread_device *dev,
		      const struct vread_attachment *attach, const char *name, unsigned int index);
/* Shares a ring of 1 << order pages, and binds handler to its events.  handler gets q as its
 * argument.  0 or negative errno. */
int vread_queue_open(struct vread_queue *q, unsigned int order, irq_handler_t handler);
/* No event handler runs after this call. */
void vread_queue_unbind(struct vread_queue *q);
/* Also for a queue that is closed, or was opened only in part. */
void vread_queue_close(struct vread_queue *q);

/* alive: the alive byte, which must stay readable until vread_queue_stop(). */
void vread_queue_start(struct vread_queue *q, u32 generation, const u8 *alive);
/* Completes all requests in flight with status. */
void vread_queue_stop(struct vread_queue *q, int status);

/* Puts a request on the ring, and fills in wire->id.  0, -EAGAIN: the ring is full, or -ENOTCONN:
 * the queue is not live, the backend died, or generation is another. */
int vread_queue_put(struct vread_queue *q, struct vread_req *req, struct vread_request *wire,
		    u32 generation);
bool vread_queue_has_room(struct vread_queue *q);
/* Completes the requests of all responses on the ring, and adds their number to *count.  NULL, or a
 * static text that says what the backend did wrong: then the queue is dead. */
const char *vread_queue_take(struct vread_queue *q, unsigned int *count);

#endif
