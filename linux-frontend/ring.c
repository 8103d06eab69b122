// SPDX-License-Identifier: GPL-2.0
/*
 * Implements ring.h: one queue, with its ring, request ids and event channel.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <xen/events.h>
#include <xen/page.h>
#include <xen/xenbus.h>

#include "check.h"
#include "compat.h"
#include "ring.h"

void vread_queue_init(struct vread_queue *q, struct vread_device *dev, unsigned int index)
{
	spin_lock_init(&q->lock);
	q->dev = dev;
	q->index = index;
}

/* Takes one response from the ring.  NULL, or a text that says what the backend did wrong. */
static const char *take_response(struct vread_queue *q)
{
	struct vread_response rsp;
	struct vread_req *req;
	const char *wrong;

	RING_COPY_RESPONSE(&q->ring, q->ring.rsp_cons, &rsp);
	if (rsp.id >= RING_SIZE(&q->ring) || !q->pending[rsp.id])
		return "response id is not in flight";
	req = q->pending[rsp.id];
	wrong = vread_check_response(&rsp, req->operation, req->max_status);
	if (wrong)
		return wrong;

	q->ring.rsp_cons++;
	q->pending[rsp.id] = NULL;
	q->free_id[q->num_free++] = rsp.id;
	req->complete(req, rsp.status < 0 ? vread_check_error(rsp.status) : rsp.status, &rsp);
	return NULL;
}

/* Takes all responses from the ring.  The loop is bounded: each response ends a request that was in
 * flight. */
static const char *take_responses(struct vread_queue *q, unsigned int *ret_count)
{
	const char *wrong;
	RING_IDX prod;
	int more;

	do {
		prod = READ_ONCE(q->ring.sring->rsp_prod);
		virt_rmb(); /* read the responses after the index that announces them */
		if (prod - q->ring.rsp_cons > RING_SIZE(&q->ring) - q->num_free)
			return "rsp_prod runs ahead of the requests";
		while (q->ring.rsp_cons != prod) {
			wrong = take_response(q);
			if (wrong)
				return wrong;
			++*ret_count;
		}
		RING_FINAL_CHECK_FOR_RESPONSES(&q->ring, more);
	} while (more);
	return NULL;
}

const char *vread_queue_take(struct vread_queue *q, unsigned int *count)
{
	const char *wrong = NULL;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->live)
		wrong = take_responses(q, count);
	if (wrong)
		q->live = false;
	spin_unlock_irqrestore(&q->lock, flags);
	return wrong;
}

static int alloc_ring(struct vread_queue *q, domid_t domid, unsigned int order)
{
	unsigned int pages = 1U << order, n;
	int gref;

	q->sring = alloc_pages_exact(pages * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!q->sring)
		return -ENOMEM;
	XEN_FRONT_RING_INIT(&q->ring, q->sring, pages * PAGE_SIZE);
	for (n = 0; n < pages; n++) {
		struct page *page = virt_to_page((char *)q->sring + n * PAGE_SIZE);

		gref = gnttab_grant_foreign_access(domid, xen_page_to_gfn(page), 0);
		if (gref < 0) {
			/* These pages were never granted: free them like ordinary pages. */
			for (; n < pages; n++)
				__free_page(virt_to_page((char *)q->sring + n * PAGE_SIZE));
			return gref;
		}
		q->gref[n] = gref;
		q->pages = n + 1;
	}
	return 0;
}

static int alloc_ids(struct vread_queue *q)
{
	unsigned int n, size = RING_SIZE(&q->ring);

	q->pending = kcalloc(size, sizeof(*q->pending), GFP_KERNEL);
	q->free_id = kcalloc(size, sizeof(*q->free_id), GFP_KERNEL);
	if (!q->pending || !q->free_id)
		return -ENOMEM;
	for (n = 0; n < size; n++)
		q->free_id[n] = size - 1 - n;
	q->num_free = size;
	return 0;
}

static int bind_events(struct vread_queue *q, struct xenbus_device *xbdev, irq_handler_t handler)
{
	int ret;

	ret = xenbus_alloc_evtchn(xbdev, &q->port);
	if (ret)
		return ret;
	snprintf(q->irq_name, sizeof(q->irq_name), "%s-q%u", dev_name(&xbdev->dev), q->index);
	ret = bind_evtchn_to_irqhandler_lateeoi(q->port, handler, 0, q->irq_name, q);
	if (ret < 0) {
		xenbus_free_evtchn(xbdev, q->port);
		return ret;
	}
	q->irq = ret;
	return 0;
}

int vread_queue_open(struct vread_queue *q, struct xenbus_device *xbdev, unsigned int order,
		     irq_handler_t handler)
{
	int ret;

	ret = alloc_ring(q, xbdev->otherend_id, order);
	if (!ret)
		ret = alloc_ids(q);
	if (!ret)
		ret = bind_events(q, xbdev, handler);
	if (ret)
		vread_queue_close(q);
	return ret;
}

void vread_queue_unbind(struct vread_queue *q)
{
	if (q->irq)
		unbind_from_irqhandler(q->irq, q);
	q->irq = 0;
}

void vread_queue_close(struct vread_queue *q)
{
	unsigned int n;

	vread_queue_unbind(q);
	vread_queue_stop(q, -ENOTCONN);
	for (n = 0; n < q->pages; n++)
		vread_end_access(q->gref[n], virt_to_page((char *)q->sring + n * PAGE_SIZE));
	q->pages = 0;
	q->sring = NULL;
	kfree(q->pending);
	q->pending = NULL;
	kfree(q->free_id);
	q->free_id = NULL;
}

void vread_queue_start(struct vread_queue *q, u32 generation, const u8 *alive)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->generation = generation;
	q->alive = alive;
	q->live = true;
	spin_unlock_irqrestore(&q->lock, flags);
}

void vread_queue_stop(struct vread_queue *q, int status)
{
	struct vread_req *req;
	unsigned long flags;
	unsigned int id;

	spin_lock_irqsave(&q->lock, flags);
	q->live = false;
	for (id = 0; q->pending && id < RING_SIZE(&q->ring); id++) {
		req = q->pending[id];
		q->pending[id] = NULL;
		if (req)
			req->complete(req, status, NULL);
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

int vread_queue_put(struct vread_queue *q, struct vread_req *req, struct vread_request *wire,
		    u32 generation)
{
	unsigned long flags;
	int ret = 0, notify;

	spin_lock_irqsave(&q->lock, flags);
	if (!q->live || q->generation != generation || !READ_ONCE(*q->alive)) {
		ret = -ENOTCONN;
	} else if (!q->num_free) {
		ret = -EAGAIN;
	} else {
		wire->id = q->free_id[--q->num_free];
		q->pending[wire->id] = req;
		*RING_GET_REQUEST(&q->ring, q->ring.req_prod_pvt) = *wire;
		q->ring.req_prod_pvt++;
		RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&q->ring, notify);
		if (notify)
			notify_remote_via_irq(q->irq);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return ret;
}

bool vread_queue_has_room(struct vread_queue *q)
{
	return READ_ONCE(q->live) && READ_ONCE(q->num_free);
}
