// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/pair.c - makes and ends a queue pair, and posts work to it.  The other files that
 * implement rdma/end.h call it; asker.c and answerer.c post through it.
 *
 * A buffer waits at the other end for every message, because the sender counts its messages.
 * So no message is refused for want of a buffer.  All posted work reports its completion, except
 * that the binding of a window reports only its failure: the READ behind it reports success.  The
 * completion queue has room for all of it at once.  So the completion queue cannot overrun.
 */
#include "peer/rdma/end_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

int rdma_end_post_receive(struct rdma_end *e, unsigned i)
{
	uint8_t *buffer = e->buffers + (size_t)i * RDMA_BUFFER_BYTES;
	struct ibv_sge piece = {(uintptr_t)buffer, RDMA_BUFFER_BYTES, e->buffers_region->lkey};
	struct ibv_recv_wr request = {.wr_id = i, .sg_list = &piece, .num_sge = 1}, *bad;
	int r = ibv_post_recv(e->id->qp, &request, &bad);

	return r ? rdma_end_failed(e, -r, "ibv_post_recv: %s", strerror(r)) : 0;
}

int rdma_end_post(struct rdma_end *e, struct ibv_send_wr *request)
{
	struct ibv_send_wr *bad;
	int r;

	if (request->opcode != IBV_WR_BIND_MW)
		request->send_flags = IBV_SEND_SIGNALED;
	r = ibv_post_send(e->id->qp, request, &bad);
	return r ? rdma_end_failed(e, -r, "ibv_post_send: %s", strerror(r)) : 0;
}

int rdma_end_send_now(struct rdma_end *e, const uint8_t *data, size_t length)
{
	unsigned i = e->free_buffers[e->num_free - 1];
	uint8_t *buffer = e->buffers + ((size_t)e->messages + i) * RDMA_BUFFER_BYTES;
	struct ibv_sge piece = {(uintptr_t)buffer, (uint32_t)length, e->buffers_region->lkey};
	struct ibv_send_wr request = {.wr_id = i,
				      .sg_list = &piece,
				      .num_sge = 1,
				      .opcode = IBV_WR_SEND};
	int r;

	memcpy(buffer, data, length);
	r = rdma_end_post(e, &request);
	if (!r)
		e->num_free--;
	return r;
}

/* Each message of the host that asks follows a bind.  On a device that repeats binds, the bind
 * waits until no message is under way. */
static bool must_be_alone(const struct rdma_end *e)
{
	return e->side == RDMA_ASKS && e->device->repeats_binds;
}

bool rdma_end_can_send(const struct rdma_end *e)
{
	return e->state == END_UP && e->num_free >= (must_be_alone(e) ? e->messages : 1);
}

int rdma_end_send(struct rdma_end *e, const uint8_t *data, size_t length)
{
	if (e->failure)
		return e->failure;
	if (length > RDMA_BUFFER_BYTES)
		return -EINVAL;
	if (!rdma_end_can_send(e))
		return -EAGAIN;
	return rdma_end_send_now(e, data, length);
}

int rdma_end_write(struct rdma_end *e, const uint8_t *from, uint32_t length, uint32_t key,
		   uint64_t address, uint32_t remote_key)
{
	struct ibv_sge piece = {(uintptr_t)from, length, key};
	struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	int r;

	if (e->failure)
		return e->failure;
	if (e->state != END_UP || e->writes_under_way == e->writes)
		return -EAGAIN;
	request.wr.rdma.remote_addr = address;
	request.wr.rdma.rkey = remote_key;
	r = rdma_end_post(e, &request);
	if (!r)
		e->writes_under_way++;
	return r;
}

/* ---- making and ending it --------------------------------------------------------------- */

static int make_buffers(struct rdma_end *e)
{
	size_t length = 2 * (size_t)e->messages * RDMA_BUFFER_BYTES;
	uint8_t *buffers =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	e->free_buffers = calloc(e->messages, sizeof(*e->free_buffers));
	if (buffers == MAP_FAILED || !e->free_buffers) {
		if (buffers != MAP_FAILED)
			munmap(buffers, length);
		return rdma_end_failed(e, -ENOMEM, "out of memory");
	}
	e->buffers = buffers;
	for (; e->num_free < e->messages; e->num_free++)
		e->free_buffers[e->num_free] = e->num_free;
	e->buffers_region = ibv_reg_mr(e->domain, buffers, length, IBV_ACCESS_LOCAL_WRITE);
	return e->buffers_region ? 0 : rdma_end_failed_errno(e, "ibv_reg_mr of buffers");
}

static int make_queue(struct rdma_end *e)
{
	struct ibv_context *context = e->id->verbs;
	unsigned room = 2 * e->messages + e->writes + rdma_end_window_work(e);
	int r;

	e->completions = ibv_create_comp_channel(context);
	if (!e->completions)
		return rdma_end_failed_errno(e, "ibv_create_comp_channel");
	if (rdma_end_make_unblocking(e, e->completions->fd))
		return e->failure;
	e->queue = ibv_create_cq(context, (int)room, NULL, e->completions, 0);
	if (!e->queue)
		return rdma_end_failed_errno(e, "ibv_create_cq");
	r = ibv_req_notify_cq(e->queue, 0);
	return r ? rdma_end_failed(e, -r, "ibv_req_notify_cq: %s", strerror(r)) : 0;
}

int rdma_end_make_pair(struct rdma_end *e)
{
	struct ibv_qp_init_attr wanted = {.qp_type = IBV_QPT_RC};
	int r = rdma_device_of(e->rdma, e->id->verbs, &e->device);

	if (r)
		return rdma_end_failed(e, r, "the adapter cannot be used: %s", strerror(-r));
	if (rdma_end_take_domain(e) || make_buffers(e) || make_queue(e))
		return e->failure;
	wanted.send_cq = wanted.recv_cq = e->queue;
	wanted.cap.max_send_wr = e->messages + e->writes + rdma_end_window_work(e);
	wanted.cap.max_recv_wr = e->messages;
	wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
	if (rdma_create_qp(e->id, e->domain, &wanted))
		return rdma_end_failed_errno(e, "rdma_create_qp");
	e->have_pair = true;
	for (unsigned i = 0; i < e->messages; i++)
		if (rdma_end_post_receive(e, i))
			return e->failure;
	return 0;
}

void rdma_end_free_pair(struct rdma_end *e)
{
	int r;

	rdma_disconnect(e->id);
	r = ibv_destroy_qp(e->id->qp);
	if (r) { /* the peer could still write to memory that others use next */
		log_error("a queue pair cannot be ended: %s", strerror(r));
		abort();
	}
	e->id->qp = NULL;
}
