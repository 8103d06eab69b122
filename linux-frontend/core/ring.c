// SPDX-License-Identifier: GPL-2.0
/*
 * Implements ring.h: one queue, with its ring, request ids and events.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "check.h"
#include "ring.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

void vread_queue_init(struct vread_queue *q, struct vread_device *dev,
		      const struct vread_attachment *attach, const char *name, unsigned int index)
{
	spin_lock_init(&q->lock);
	q->dev = dev;
	q->attach = attach;
	q->name = name;
	q->index = index;
}

/* Takes one response from the ring.  NULL, or a text that says what the backend did wrong. */
static const char *take_response(struct vread_queue *q)
{
	struct vread_response rsp;
	struct vread_req *req;
	const char *wrong;
	int status;

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
	status = rsp.status < 0 ? vread_check_error(rsp.status) : rsp.status;
	trace_vread_complete(q->name, q->index, rsp.id, req->operation, status);
	req->complete(req, status, &rsp);
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

int vread_queue_open(struct vread_queue *q, unsigned int order, irq_handler_t handler)
{
	int ret;

	ret = q->attach->share_ring(q, order);
	if (ret)
		return ret;
	XEN_FRONT_RING_INIT(&q->ring, q->sring, VREAD_PAGE_SIZE << order);
	ret = alloc_ids(q);
	if (!ret)
		ret = q->attach->bind(q, handler);
	q->bound = !ret;
	if (ret)
		vread_queue_close(q);
	return ret;
}

void vread_queue_unbind(struct vread_queue *q)
{
	if (q->bound)
		q->attach->unbind(q);
	q->bound = false;
}

void vread_queue_close(struct vread_queue *q)
{
	vread_queue_unbind(q);
	vread_queue_stop(q, -ENOTCONN);
	if (q->sring)
		q->attach->unshare_ring(q);
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
		if (!req)
			continue;
		trace_vread_complete(q->name, q->index, id, req->operation, status);
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
		trace_vread_submit(q->name, q->index, wire->id, req->operation);
		*RING_GET_REQUEST(&q->ring, q->ring.req_prod_pvt) = *wire;
		q->ring.req_prod_pvt++;
		RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&q->ring, notify);
		if (notify)
			q->attach->notify(q);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return ret;
}

bool vread_queue_has_room(struct vread_queue *q)
{
	return READ_ONCE(q->live) && READ_ONCE(q->num_free);
}
