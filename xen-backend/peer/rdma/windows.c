// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/windows.c - what the other host of a queue pair may write to: the place of one READ, from
 * the READ to its answer.  asker.c calls most of it (rdma/end.h); end.c and pair.c call the rest.
 *
 * Each slot has a memory window of type 2.  A window is bound to one range and to this queue pair,
 * with another key each time.  The adapter refuses what other queue pairs write with that key, and
 * refuses the key after the window was invalidated.  Binding and invalidating are work in the send
 * queue.  The queue keeps their order: a window is bound before the READ with its key goes out.
 *
 * On an adapter without such windows the key of the registered memory is all that protects it.  So
 * the queue pair gets a protection domain of its own there, and the only memory in that domain is
 * what rdma_end_register() puts there, the buffers of rdma/bounce.h.
 */
#include "peer/rdma/end_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static bool has_windows(const struct rdma_end *e)
{
	return e->device->has_windows;
}

int rdma_end_take_domain(struct rdma_end *e)
{
	if (e->side == RDMA_ASKS && !has_windows(e)) {
		e->own_domain = ibv_alloc_pd(e->id->verbs);
		if (!e->own_domain)
			return rdma_end_failed_errno(e, "ibv_alloc_pd");
	}
	e->domain = e->own_domain ? e->own_domain : e->device->domains[e->side];
	if (e->side == RDMA_ANSWERS)
		return 0;
	e->windows = calloc(e->messages, sizeof(*e->windows));
	return e->windows ? 0 : rdma_end_failed(e, -ENOMEM, "out of memory");
}

unsigned rdma_end_window_work(const struct rdma_end *e)
{
	return e->side == RDMA_ASKS && has_windows(e) ? 2 * e->messages : 0;
}

int rdma_end_register(struct rdma_end *e, uint8_t *base, size_t length, struct ibv_mr **ret)
{
	int access = has_windows(e) ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_WRITE;

	errno = 0;
	e->own_region = ibv_reg_mr(e->domain, base, length, IBV_ACCESS_LOCAL_WRITE | access);
	*ret = e->own_region;
	return e->own_region ? 0 : errno ? -errno : -EIO;
}

static int make_window(struct rdma_end *e, struct ibv_mw **window)
{
	if (!*window)
		*window = ibv_alloc_mw(e->domain, IBV_MW_TYPE_2);
	return *window ? 0 : rdma_end_failed_errno(e, "ibv_alloc_mw");
}

int rdma_end_expose(struct rdma_end *e, unsigned slot, struct ibv_mr *region, const uint8_t *at,
		    uint32_t length, uint32_t *ret_key)
{
	struct ibv_mw **window = &e->windows[slot];
	struct ibv_send_wr request = {.wr_id = slot, .opcode = IBV_WR_BIND_MW};
	int r;

	if (!has_windows(e)) {
		*ret_key = region->rkey;
		return 0;
	}
	if (make_window(e, window))
		return e->failure;
	request.bind_mw.mw = *window;
	request.bind_mw.rkey = ibv_inc_rkey((*window)->rkey);
	request.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = region,
		.addr = (uintptr_t)at,
		.length = length,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	r = rdma_end_post(e, &request);
	if (!r) /* libibverbs leaves this to the caller for windows of type 2 */
		*ret_key = (*window)->rkey = request.bind_mw.rkey;
	return r;
}

int rdma_end_withdraw(struct rdma_end *e, unsigned slot)
{
	struct ibv_send_wr request = {.wr_id = slot, .opcode = IBV_WR_LOCAL_INV};

	if (!has_windows(e))
		return e->user->withdrawn(e->ctx, slot);
	request.invalidate_rkey = e->windows[slot]->rkey;
	return rdma_end_post(e, &request);
}

/* Ends the process if r is an error: the other host could still reach the memory. */
static void must_be_freed(const char *what, int r)
{
	if (!r)
		return;
	log_error("a memory %s cannot be freed: %s", what, strerror(r));
	abort();
}

void rdma_end_free_windows(struct rdma_end *e)
{
	for (unsigned i = 0; e->windows && i < e->messages; i++)
		if (e->windows[i])
			must_be_freed("window", ibv_dealloc_mw(e->windows[i]));
	free(e->windows);
	e->windows = NULL;
}

void rdma_end_free_domain(struct rdma_end *e)
{
	if (e->own_region)
		must_be_freed("region", ibv_dereg_mr(e->own_region));
	if (e->own_domain)
		ibv_dealloc_pd(e->own_domain);
}
