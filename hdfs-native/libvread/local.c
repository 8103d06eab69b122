/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements transport.h for the local port: the frontend of some rings and a pool, in this
 * process.
 *
 * A thread of the backend serves each ring.  A READ goes to the ring with the fewest requests in
 * flight, so that all threads serve a long read.  All other operations go to the first ring.  The
 * id of a request is the number of its slot, on any ring.
 *
 * This file does not trust the backend.  Each response is copied once, and only the copy is used.
 * The id of a response must be in flight on that ring with that operation.  A producer index
 * beyond the requests ends the connection.  A connection that ended stays ended (`broken`).
 */
#include "transport.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "local_link.h"

struct queue {
	struct vread_front_ring ring;
	RING_IDX pushed;    /* req_prod as last published; the backend can change the shared one */
	unsigned in_flight; /* atomic: changes while the leader waits without the lock */
};

struct local {
	struct transport base;
	struct local_link link;
	struct queue queues[VREAD_MAX_QUEUES];
	uint8_t *rings; /* all rings, one after the other */
	uint8_t *
		pool; /* the slice, mapped for writing, because OPEN, PUBLISH and KEYS carry data */
	bool broken;
	int epoll_fd; /* the program's, which watches the socket and the events; -1: none */
	struct {
		uint8_t kind; /* operation, 0: none */
		uint8_t queue;
	} in_flight[TRANSPORT_MAX_OPS]; /* by id */
};

static struct local *local(struct transport *t)
{
	return (struct local *)t;
}

static RING_IDX produced(const struct queue *q)
{
	return __atomic_load_n(&q->ring.sring->rsp_prod, __ATOMIC_ACQUIRE);
}

static bool backend_alive(struct local *l)
{
	return __atomic_load_n(l->rings + VREAD_RING_ALIVE_OFFSET, __ATOMIC_RELAXED) == 1;
}

/* Wakes threads of this process that wait.  The backend must not hear of it before destroy(): it
 * frees the pages then, and other threads may still copy bytes out of the slice. */
static void set_broken(struct local *l)
{
	__atomic_store_n(&l->broken, true, __ATOMIC_RELEASE);
	shutdown(l->link.sock, SHUT_RD);
}

static bool is_broken(struct local *l)
{
	return __atomic_load_n(&l->broken, __ATOMIC_ACQUIRE);
}

static unsigned in_flight(const struct queue *q)
{
	return __atomic_load_n(&q->in_flight, __ATOMIC_RELAXED);
}

static void count(struct queue *q, int change)
{
	__atomic_store_n(&q->in_flight, q->in_flight + (unsigned)change, __ATOMIC_RELAXED);
}

static struct queue *queue_for(struct local *l, const struct op *op)
{
	struct queue *best = &l->queues[0];

	for (unsigned i = 1; op->kind == VREAD_OP_READ && i < l->link.num_queues; i++)
		if (l->queues[i].in_flight < best->in_flight)
			best = &l->queues[i];
	return best;
}

static void local_start(struct transport *t, const struct op *op)
{
	struct local *l = local(t);
	struct queue *q = queue_for(l, op);
	struct vread_request request = {
		.id = (uint16_t)op->slot,
		.operation = op->kind,
		.pool_page = op->slice_offset / VREAD_PAGE_SIZE,
		.pool_pages = op->slice_length / VREAD_PAGE_SIZE,
	};

	/* The ring has room: the engine keeps at most max_ops, the size of a ring, in flight. */
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
	case VREAD_OP_KEYS:
		memcpy(l->pool + op->slice_offset, op->data, op->data_length);
		request.u.keys.data_length = op->data_length;
		request.u.keys.tokens = op->tokens;
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
	l->in_flight[op->slot].kind = op->kind;
	l->in_flight[op->slot].queue = (uint8_t)(q - l->queues);
	count(q, 1);
	*RING_GET_REQUEST(&q->ring, q->ring.req_prod_pvt) = request;
	q->ring.req_prod_pvt++;
}

static void flush_queue(struct local *l, struct queue *q, int event)
{
	RING_IDX old = q->pushed, new = q->ring.req_prod_pvt;
	RING_IDX wanted;
	uint64_t one = 1;

	if (old == new)
		return;
	q->pushed = new;
	__atomic_store_n(&q->ring.sring->req_prod, new, __ATOMIC_RELEASE);
	xen_mb(); /* publish the requests before req_event is read */
	wanted = __atomic_load_n(&q->ring.sring->req_event, __ATOMIC_RELAXED);
	if ((RING_IDX)(new - wanted) < (RING_IDX)(new - old) &&
	    write(event, &one, sizeof(one)) < 0 && errno != EAGAIN)
		set_broken(l);
}

static bool local_flush(struct transport *t)
{
	struct local *l = local(t);

	for (unsigned i = 0; i < l->link.num_queues; i++)
		flush_queue(l, &l->queues[i], l->link.request_event[i]);
	return false; /* the rings have room for all operations */
}

/* False if the response does not answer a request that is in flight on that ring. */
static bool accept_response(struct local *l, struct queue *q, const struct vread_response *response,
			    struct op_done *ret)
{
	if (response->id >= l->base.max_ops || !l->in_flight[response->id].kind ||
	    l->in_flight[response->id].kind != response->operation ||
	    &l->queues[l->in_flight[response->id].queue] != q)
		return false;
	l->in_flight[response->id].kind = 0;
	count(q, -1);
	*ret = (struct op_done){
		.slot = response->id,
		.status = response->status,
		.handle = response->handle,
		.flags = response->flags,
		.block_length = response->u.block.length,
		.block_genstamp = response->u.block.genstamp,
	};
	if (response->operation == VREAD_OP_READ)
		ret->crc32c = response->u.read.crc32c;
	return true;
}

static unsigned reap_queue(struct local *l, struct queue *q, struct op_done *done, unsigned max)
{
	RING_IDX prod = produced(q);
	unsigned n = 0;

	if (prod - q->ring.rsp_cons > q->pushed - q->ring.rsp_cons) {
		set_broken(l); /* more responses than requests */
		return 0;
	}
	for (; n < max && q->ring.rsp_cons != prod; n++) {
		struct vread_response response;

		RING_COPY_RESPONSE(&q->ring, q->ring.rsp_cons, &response);
		q->ring.rsp_cons++;
		if (!accept_response(l, q, &response, done + n)) {
			set_broken(l);
			break;
		}
	}
	return n;
}

static int local_reap(struct transport *t, struct op_done *done, unsigned max)
{
	struct local *l = local(t);
	unsigned n = 0;

	for (unsigned i = 0; i < l->link.num_queues; i++)
		n += reap_queue(l, &l->queues[i], done + n, max - n);
	if (n)
		return (int)n;
	if (!backend_alive(l))
		set_broken(l);
	return is_broken(l) ? -ENOTCONN : 0;
}

static bool local_ready(struct transport *t)
{
	struct local *l = local(t);

	for (unsigned i = 0; i < l->link.num_queues; i++)
		if (produced(&l->queues[i]) != l->queues[i].ring.rsp_cons)
			return true;
	return is_broken(l) || !backend_alive(l);
}

static void take_event(struct local *l, int event)
{
	uint64_t count;

	if (read(event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		set_broken(l);
}

/* Asks for an event with the nth response from now on that ring.  True: it is already there. */
static bool ask_queue(struct queue *q, unsigned n)
{
	__atomic_store_n(&q->ring.sring->rsp_event, q->ring.rsp_cons + n, __ATOMIC_RELAXED);
	xen_mb();
	return produced(q) - q->ring.rsp_cons >= n;
}

/*
 * Asks for an event when `batch` responses may be there.  True: they may be there already, or the
 * backend is gone.  The batch is divided among the rings: when `batch` responses are there, at
 * least one ring has its share.
 */
static bool ask_event(struct local *l, unsigned batch)
{
	unsigned share = (batch + l->link.num_queues - 1) / l->link.num_queues;
	bool there = false;

	for (unsigned i = 0; i < l->link.num_queues; i++) {
		struct queue *q = &l->queues[i];
		unsigned most = in_flight(q) ?: 1;

		there |= ask_queue(q, share < most ? share : most);
	}
	return there || is_broken(l) || !backend_alive(l);
}

static bool local_arm(struct transport *t)
{
	struct local *l = local(t);

	/* Take old events first, or they would count as the next event. */
	for (unsigned i = 0; i < l->link.num_queues; i++)
		take_event(l, l->link.response_event[i]);
	return ask_event(l, 1);
}

static bool peer_closed(struct local *l, short revents)
{
	char byte;

	if (revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP))
		return true;
	/* The backend sends nothing after the welcome.  Data is a protocol error. */
	return revents & POLLIN && (recv(l->link.sock, &byte, 1, MSG_DONTWAIT) >= 0 ||
				    (errno != EAGAIN && errno != EINTR));
}

static bool local_wait(struct transport *t, int kick_fd, unsigned batch, uint64_t deadline,
		       bool brief)
{
	struct local *l = local(t);
	const unsigned queues = l->link.num_queues;
	struct pollfd fds[2 + VREAD_MAX_QUEUES] = {
		{.fd = l->link.sock, .events = POLLIN | POLLRDHUP},
		{.fd = kick_fd, .events = POLLIN},
	};

	for (unsigned i = 0; i < queues; i++)
		fds[2 + i] = (struct pollfd){.fd = l->link.response_event[i], .events = POLLIN};
	if (ask_event(l, batch))
		return true;
	if (vclock_poll(fds, 2 + queues, deadline, brief) <= 0)
		return false;
	if (peer_closed(l, fds[0].revents))
		set_broken(l);
	for (unsigned i = 0; i < queues; i++) {
		if (fds[2 + i].revents & POLLIN)
			take_event(l, fds[2 + i].fd);
		if (fds[2 + i].revents & (POLLERR | POLLNVAL))
			set_broken(l);
	}
	return true;
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

	for (unsigned i = 0; i < l->link.num_queues; i++)
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, l->link.response_event[i], &responses) < 0)
			return -errno;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, l->link.sock, &hangup) < 0)
		return -errno;
	l->epoll_fd = epoll_fd;
	return 0;
}

/* A backend that is gone stays gone. */
static void local_rest(struct transport *t, bool rest)
{
	struct local *l = local(t);

	if (!rest || l->epoll_fd < 0)
		return;
	for (unsigned i = 0; i < l->link.num_queues; i++)
		epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, l->link.response_event[i], NULL);
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, l->link.sock, NULL);
	l->epoll_fd = -1;
}

static void local_destroy(struct transport *t, bool shared)
{
	struct local *l = local(t);

	/* A forked child may still have the socket open.  Then closing it tells nobody. */
	if (!shared && l->link.sock >= 0)
		shutdown(l->link.sock, SHUT_RDWR);
	if (l->rings)
		munmap(l->rings, l->link.num_queues * LOCAL_RING_BYTES);
	if (l->pool)
		munmap(l->pool, l->base.slice_bytes);
	if (l->base.slice)
		munmap((void *)l->base.slice, l->base.slice_bytes);
	local_link_close(&l->link);
	free(l);
}

static void local_wipe(struct transport *t, uint32_t slice_offset, uint32_t slice_length)
{
	explicit_bzero(local(t)->pool + slice_offset, slice_length);
}

static const struct transport_ops local_ops = {
	.start = local_start,
	.flush = local_flush,
	.reap = local_reap,
	.ready = local_ready,
	.arm = local_arm,
	.wait = local_wait,
	.wipe = local_wipe,
	.watch = local_watch,
	.rest = local_rest,
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
	const unsigned queues = l->link.num_queues;

	l->rings = map(l->link.rings, queues * LOCAL_RING_BYTES, PROT_READ | PROT_WRITE);
	l->pool = map(l->link.pool, l->base.slice_bytes, PROT_READ | PROT_WRITE);
	l->base.slice = map(l->link.pool, l->base.slice_bytes, PROT_READ);
	if (!l->rings || !l->pool || !l->base.slice)
		return -errno;
	for (unsigned i = 0; i < queues; i++) {
		struct queue *q = &l->queues[i];
		struct vread_sring *sring = (void *)(l->rings + i * LOCAL_RING_BYTES);

		FRONT_RING_INIT(&q->ring, sring, LOCAL_RING_BYTES);
		if (produced(q) != 0)
			return -EPROTO;
	}
	/* At most as many in flight as one ring takes: all may be on the same ring. */
	l->base.max_ops = RING_SIZE(&l->queues[0].ring);
	return backend_alive(l) ? 0 : -EPROTO;
}

int local_connect(const char *path, size_t slice_bytes, unsigned num_queues, uint64_t deadline,
		  struct transport **ret)
{
	struct local *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->epoll_fd = -1;
	l->base.ops = &local_ops;
	l->base.slice_bytes = slice_bytes;
	l->base.data_in_slice = true;
	r = local_link_connect(path, (uint32_t)(slice_bytes / VREAD_PAGE_SIZE), num_queues,
			       deadline, &l->link);
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
