// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/completions.c - takes from the completion queue which posted work is done, and what has
 * arrived.  rdma_end_advance() calls it.
 */
#include "peer/rdma/end_private.h"

#include <errno.h>
#include <string.h>

#define BATCH 16

static int take_received(struct rdma_end *e, const struct ibv_wc *done)
{
	const uint8_t *data = e->buffers + done->wr_id * RDMA_BUFFER_BYTES;
	int r;

	if (done->wc_flags & IBV_WC_WITH_INV)
		return rdma_end_failed(e, -EPROTO, "the other host ends a key itself");
	if (e->state == END_PROVING)
		r = rdma_end_take_proof(e, data, done->byte_len);
	else if (e->state != END_UP)
		r = rdma_end_failed(e, -EPROTO, "a message before the proof");
	else
		r = e->user->message(e->ctx, data, done->byte_len);
	if (r) {
		if (!e->failure)
			rdma_end_failed(e, r, "a malformed or unexpected message");
		return r;
	}
	return rdma_end_post_receive(e, (unsigned)done->wr_id);
}

static int take_withdrawn(struct rdma_end *e, unsigned slot)
{
	int r = e->user->withdrawn(e->ctx, slot);

	if (r && !e->failure)
		rdma_end_failed(e, r, "a malformed or unexpected message");
	return r;
}

static int take_completion(struct rdma_end *e, const struct ibv_wc *done)
{
	if (done->status != IBV_WC_SUCCESS)
		return rdma_end_failed(e, done->status == IBV_WC_WR_FLUSH_ERR ? -ESHUTDOWN : -EIO,
				       "queue pair: %s", ibv_wc_status_str(done->status));
	switch (done->opcode) {
	case IBV_WC_RECV:
		return take_received(e, done);
	case IBV_WC_SEND:
		e->free_buffers[e->num_free++] = (unsigned)done->wr_id;
		return 0;
	case IBV_WC_RDMA_WRITE:
		e->writes_under_way--;
		e->user->written(e->ctx);
		return 0;
	case IBV_WC_BIND_MW:
		return 0;
	case IBV_WC_LOCAL_INV:
		return take_withdrawn(e, (unsigned)done->wr_id);
	default:
		return rdma_end_failed(e, -EIO, "queue pair: a completion of kind %d",
				       done->opcode);
	}
}

int rdma_end_take_completions(struct rdma_end *e)
{
	struct ibv_wc done[BATCH];
	struct ibv_cq *queue;
	unsigned told = 0;
	void *unused;
	int n, r;

	while (ibv_get_cq_event(e->completions, &queue, &unused) == 0)
		told++;
	if (told) {
		ibv_ack_cq_events(e->queue, told);
		r = ibv_req_notify_cq(e->queue, 0);
		if (r)
			return rdma_end_failed(e, -r, "ibv_req_notify_cq: %s", strerror(r));
	}
	do {
		n = ibv_poll_cq(e->queue, BATCH, done);
		if (n < 0)
			return rdma_end_failed(e, -EIO, "ibv_poll_cq failed");
		for (int i = 0; i < n; i++)
			if (take_completion(e, &done[i]))
				return e->failure;
	} while (n > 0);
	return 0;
}
