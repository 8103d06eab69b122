// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * failing_verbs.c - RDMA calls of rdma-pair that can be made to fail (failing.h).
 * pair/test_failing_verbs.py runs the program.
 *
 * Five of the calls are inline functions of verbs.h, which call through the table of their adapter
 * (struct ibv_context).  So the adapter's table is replaced when the program makes its first
 * domain.  Freeing is no such call: a process ends by design if it cannot free memory that another
 * host may reach.
 */
#include "../support/failing.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define NO_MEMORY (errno = ENOMEM, NULL)
#define NO_ROOM (errno = ENOMEM, -1)
#define NO_ADDRESS (errno = EADDRNOTAVAIL, -1)

CALL(struct rdma_event_channel *, rdma_create_event_channel, (void), (), NO_MEMORY)
CALL(int, rdma_create_id,
     (struct rdma_event_channel * c, struct rdma_cm_id **id, void *ctx, enum rdma_port_space space),
     (c, id, ctx, space), NO_ROOM)
CALL(int, rdma_set_option, (struct rdma_cm_id * id, int level, int name, void *value, size_t size),
     (id, level, name, value, size), NO_ROOM)
CALL(int, rdma_resolve_addr,
     (struct rdma_cm_id * id, struct sockaddr *from, struct sockaddr *to, int ms),
     (id, from, to, ms), NO_ADDRESS)
CALL(int, rdma_resolve_route, (struct rdma_cm_id * id, int ms), (id, ms), NO_ADDRESS)
CALL(int, rdma_connect, (struct rdma_cm_id * id, struct rdma_conn_param *how), (id, how), NO_ROOM)
CALL(int, rdma_bind_addr, (struct rdma_cm_id * id, struct sockaddr *at), (id, at), NO_ADDRESS)
CALL(int, rdma_listen, (struct rdma_cm_id * id, int backlog), (id, backlog), NO_ROOM)
CALL(int, rdma_migrate_id, (struct rdma_cm_id * id, struct rdma_event_channel *to), (id, to),
     NO_ROOM)
CALL(int, rdma_accept, (struct rdma_cm_id * id, struct rdma_conn_param *how), (id, how), NO_ROOM)
CALL(int, rdma_create_qp,
     (struct rdma_cm_id * id, struct ibv_pd *domain, struct ibv_qp_init_attr *wanted),
     (id, domain, wanted), NO_ROOM)
CALL(int, ibv_query_device, (struct ibv_context * device, struct ibv_device_attr *ret),
     (device, ret), ENOMEM)
CALL(struct ibv_mr *, ibv_reg_mr_iova2,
     (struct ibv_pd * domain, void *at, size_t n, uint64_t address, unsigned access),
     (domain, at, n, address, access), NO_MEMORY)
CALL(struct ibv_comp_channel *, ibv_create_comp_channel, (struct ibv_context * device), (device),
     NO_MEMORY)
CALL(struct ibv_cq *, ibv_create_cq,
     (struct ibv_context * device, int n, void *ctx, struct ibv_comp_channel *c, int vector),
     (device, n, ctx, c, vector), NO_MEMORY)

/* verbs.h has a macro of this name. */
#undef ibv_reg_mr
CALL(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd * domain, void *at, size_t n, int access),
     (domain, at, n, access), NO_MEMORY)

/* ---- calls through an adapter's table ---------------------------------------------------- */

static struct ibv_context_ops real;

static struct ibv_mw *alloc_mw(struct ibv_pd *domain, enum ibv_mw_type type)
{
	return FAILS(ibv_alloc_mw) ? NO_MEMORY : real.alloc_mw(domain, type);
}

static int req_notify_cq(struct ibv_cq *queue, int solicited_only)
{
	return FAILS(ibv_req_notify_cq) ? ENOMEM : real.req_notify_cq(queue, solicited_only);
}

static int poll_cq(struct ibv_cq *queue, int n, struct ibv_wc *ret)
{
	return FAILS(ibv_poll_cq) ? -1 : real.poll_cq(queue, n, ret);
}

static int post_send(struct ibv_qp *pair, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
	return FAILS(ibv_post_send) ? (*bad = work, ENOMEM) : real.post_send(pair, work, bad);
}

static int post_recv(struct ibv_qp *pair, struct ibv_recv_wr *work, struct ibv_recv_wr **bad)
{
	return FAILS(ibv_post_recv) ? (*bad = work, ENOMEM) : real.post_recv(pair, work, bad);
}

static void lead_here(struct ibv_context_ops *table)
{
	if (table->post_send == post_send)
		return;
	real = *table;
	table->alloc_mw = alloc_mw;
	table->req_notify_cq = req_notify_cq;
	table->poll_cq = poll_cq;
	table->post_send = post_send;
	table->post_recv = post_recv;
}

struct ibv_pd *__real_ibv_alloc_pd(struct ibv_context *device);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *device);
struct ibv_pd *__wrap_ibv_alloc_pd(struct ibv_context *device)
{
	lead_here(&device->ops);
	return FAILS(ibv_alloc_pd) ? NO_MEMORY : __real_ibv_alloc_pd(device);
}
