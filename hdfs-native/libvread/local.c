/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frontend of the local port: one ring, one pool, in this process.
 *
 * The backend is distrusted as it distrusts us: each response is copied once
 * and only the copy is looked at; its id must be in flight with that
 * operation; a producer index that runs ahead of what was asked ends the
 * connection.  A connection that ended stays ended (`broken`).
 */
#include "transport.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local_link.h"

struct local {
	struct transport base;
	struct local_link link;
	struct vread_front_ring ring;
	RING_IDX pushed; /* req_prod as we last published it; the shared one is not ours alone */
	uint8_t *pool; /* writable view, for the data of OPEN and PUBLISH; the slice is read-only */
	bool broken;
	uint8_t in_flight[TRANSPORT_MAX_OPS]; /* operation by id, 0: none */
};

static struct local *local(struct transport *t)
{
	return (struct local *)t;
}

static RING_IDX produced(struct local *l)
{
	return __atomic_load_n(&l->ring.sring->rsp_prod, __ATOMIC_ACQUIRE);
}

static bool backend_alive(struct local *l)
{
	return __atomic_load_n((uint8_t *)l->ring.sring + VREAD_RING_ALIVE_OFFSET,
			       __ATOMIC_RELAXED) == 1;
}

static void set_broken(struct local *l)
{
	/* Closing is how the backend learns that it broke the protocol. */
	__atomic_store_n(&l->broken, true, __ATOMIC_RELEASE);
	shutdown(l->link.sock, SHUT_RDWR);
}

static bool is_broken(struct local *l)
{
	return __atomic_load_n(&l->broken, __ATOMIC_ACQUIRE);
}

static void local_start(struct transport *t, const struct op *op)
{
	struct local *l = local(t);
	struct vread_request request = {
		.id = (uint16_t)op->slot,
		.operation = op->kind,
		.pool_page = op->slice_offset / VREAD_PAGE_SIZE,
		.pool_pages = op->slice_length / VREAD_PAGE_SIZE,
	};

	/* The engine keeps at most max_ops = ring size in flight, one per slot. */
	switch (op->kind) {
	case VREAD_OP_OPEN:
		memcpy(l->pool + op->slice_offset, op->data, op->data_length);
		request.u.open.block_id = op->block_id;
		request.u.open.genstamp = op->genstamp;
		request.u.open.visible_length = op->visible_length;
		request.u.open.data_length = op->data_length;
		break;
	case VREAD_OP_PUBLISH:
		memcpy(l->pool + op->slice_offset, op->data, op->data_length);
		request.u.publish.block_id = op->block_id;
		request.u.publish.genstamp = op->genstamp;
		request.u.publish.length = op->new_length;
		request.u.publish.data_length = op->data_length;
		request.u.publish.event = op->event;
		break;
	case VREAD_OP_READ:
		request.handle = op->handle;
		request.u.read.offset = op->offset;
		request.u.read.length = op->length;
		break;
	default:
		request.handle = op->handle;
		break;
	}
	l->in_flight[op->slot] = op->kind;
	*RING_GET_REQUEST(&l->ring, l->ring.req_prod_pvt) = request;
	l->ring.req_prod_pvt++;
}

static void local_flush(struct transport *t)
{
	struct local *l = local(t);
	RING_IDX old = l->pushed, new = l->ring.req_prod_pvt;
	RING_IDX wanted;
	uint64_t one = 1;

	if (old == new)
		return;
	l->pushed = new;
	__atomic_store_n(&l->ring.sring->req_prod, new, __ATOMIC_RELEASE);
	xen_mb(); /* the backend sees the requests before we look at req_event */
	wanted = __atomic_load_n(&l->ring.sring->req_event, __ATOMIC_RELAXED);
	if ((RING_IDX)(new - wanted) < (RING_IDX)(new - old) &&
	    write(l->link.request_event, &one, sizeof(one)) < 0 && errno != EAGAIN)
		set_broken(l);
}

/* False if the response is not the answer to something in flight. */
static bool accept_response(struct local *l, const struct vread_response *response,
			    struct op_done *ret)
{
	if (response->id >= l->base.max_ops || !l->in_flight[response->id] ||
	    l->in_flight[response->id] != response->operation)
		return false;
	l->in_flight[response->id] = 0;
	*ret = (struct op_done){
		.slot = response->id,
		.status = response->status,
		.handle = response->handle,
		.flags = response->flags,
		.block_length = response->u.block.length,
		.block_genstamp = response->u.block.genstamp,
	};
	return true;
}

static int local_reap(struct transport *t, struct op_done *done, unsigned max)
{
	struct local *l = local(t);
	RING_IDX prod = produced(l);
	unsigned n = 0;

	if (prod - l->ring.rsp_cons > l->pushed - l->ring.rsp_cons)
		set_broken(l); /* more answers than questions */
	else
		for (; n < max && l->ring.rsp_cons != prod; n++) {
			struct vread_response response;

			RING_COPY_RESPONSE(&l->ring, l->ring.rsp_cons, &response);
			l->ring.rsp_cons++;
			if (!accept_response(l, &response, done + n)) {
				set_broken(l);
				break;
			}
		}
	if (n)
		return (int)n;
	if (!backend_alive(l))
		set_broken(l);
	return is_broken(l) ? -ENOTCONN : 0;
}

static bool local_ready(struct transport *t)
{
	struct local *l = local(t);

	return produced(l) != l->ring.rsp_cons || is_broken(l) || !backend_alive(l);
}

static void take_event(struct local *l)
{
	uint64_t count;

	if (read(l->link.response_event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		set_broken(l);
}

/* Asks for an event with the nth response from now; true if it is there already. */
static bool ask_event(struct local *l, unsigned n)
{
	__atomic_store_n(&l->ring.sring->rsp_event, l->ring.rsp_cons + n, __ATOMIC_RELAXED);
	xen_mb();
	return produced(l) - l->ring.rsp_cons >= n || is_broken(l) || !backend_alive(l);
}

static bool local_arm(struct transport *t)
{
	struct local *l = local(t);

	/* Take the old event before asking for the next, or it would be the next. */
	take_event(l);
	return ask_event(l, 1);
}

static bool peer_closed(struct local *l, short revents)
{
	char byte;

	if (revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP))
		return true;
	/* Nothing is ever sent after the welcome: data is a protocol error, too. */
	return revents & POLLIN && (recv(l->link.sock, &byte, 1, MSG_DONTWAIT) >= 0 ||
				    (errno != EAGAIN && errno != EINTR));
}

static void local_wait(struct transport *t, int kick_fd, unsigned batch, int timeout_ms)
{
	struct local *l = local(t);
	struct pollfd fds[] = {
		{.fd = l->link.response_event, .events = POLLIN},
		{.fd = l->link.sock, .events = POLLIN | POLLRDHUP},
		{.fd = kick_fd, .events = POLLIN},
	};

	if (ask_event(l, batch) || poll(fds, 3, timeout_ms) <= 0)
		return;
	if (fds[0].revents & POLLIN)
		take_event(l);
	if (fds[0].revents & (POLLERR | POLLNVAL) || peer_closed(l, fds[1].revents))
		set_broken(l);
}

static bool local_alive(struct transport *t)
{
	struct local *l = local(t);
	struct pollfd fd = {.fd = l->link.sock, .events = POLLIN | POLLRDHUP};

	if (!is_broken(l) &&
	    (!backend_alive(l) || (poll(&fd, 1, 0) > 0 && peer_closed(l, fd.revents))))
		set_broken(l);
	return !is_broken(l);
}

static int local_watch(struct transport *t, int epoll_fd)
{
	struct local *l = local(t);
	struct epoll_event responses = {.events = EPOLLIN};
	struct epoll_event hangup = {.events = EPOLLIN | EPOLLRDHUP};

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, l->link.response_event, &responses) < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, l->link.sock, &hangup) < 0)
		return -errno;
	return 0;
}

static void local_destroy(struct transport *t, bool shared)
{
	struct local *l = local(t);

	/* A forked child may keep a copy of the socket: tell the backend ourselves. */
	if (!shared && l->link.sock >= 0)
		shutdown(l->link.sock, SHUT_RDWR);
	if (l->ring.sring)
		munmap(l->ring.sring, VREAD_PAGE_SIZE << LOCAL_RING_PAGE_ORDER);
	if (l->pool)
		munmap(l->pool, l->base.slice_bytes);
	if (l->base.slice)
		munmap((void *)l->base.slice, l->base.slice_bytes);
	local_link_close(&l->link);
	free(l);
}

static const struct transport_ops local_ops = {
	.start = local_start,
	.flush = local_flush,
	.reap = local_reap,
	.ready = local_ready,
	.arm = local_arm,
	.wait = local_wait,
	.watch = local_watch,
	.alive = local_alive,
	.destroy = local_destroy,
};

static void *map(int fd, size_t bytes, int protection)
{
	void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int map_link(struct local *l)
{
	const size_t ring_bytes = VREAD_PAGE_SIZE << LOCAL_RING_PAGE_ORDER;
	struct vread_sring *sring = map(l->link.ring, ring_bytes, PROT_READ | PROT_WRITE);

	if (sring)
		FRONT_RING_INIT(&l->ring, sring, ring_bytes);
	l->pool = map(l->link.pool, l->base.slice_bytes, PROT_READ | PROT_WRITE);
	l->base.slice = map(l->link.pool, l->base.slice_bytes, PROT_READ);
	if (!sring || !l->pool || !l->base.slice)
		return -ENOMEM;
	l->base.max_ops = RING_SIZE(&l->ring);
	return produced(l) == 0 && backend_alive(l) ? 0 : -EPROTO;
}

int local_connect(const char *path, size_t slice_bytes, unsigned timeout_ms, struct transport **ret)
{
	struct local *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->base.ops = &local_ops;
	l->base.slice_bytes = slice_bytes;
	l->base.data_in_slice = true;
	r = local_link_connect(path, (uint32_t)(slice_bytes / VREAD_PAGE_SIZE), timeout_ms,
			       &l->link);
	if (r) {
		free(l);
		return r;
	}
	r = map_link(l);
	if (r) {
		local_destroy(&l->base, false);
		return r;
	}
	*ret = &l->base;
	return 0;
}
