/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements transport.h for a guest: /dev/vread, whose driver is the frontend.
 *
 * The driver checks everything that comes from the backend.  So this file only matches the
 * driver's completions with requests, by the slot and a count of the slot's uses.
 *
 * While the driver has no room, because it serves other processes too, READs wait in a queue, and
 * wait() and the program's epoll also watch for room (POLLOUT).  A READ that the driver refuses
 * completes with the driver's error.
 */
#include "transport.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "vread_ioctl.h"

#define REAP_MAX 32U

struct device {
	struct transport base;
	int fd;
	int epoll_fd;        /* the program's, which watches fd; -1: none */
	bool rests;          /* the epoll is quiet until the backend is back */
	bool waits_for_room; /* num_queued is not 0; atomic: wait() reads it without the lock */
	struct vread_ioc_read queued[TRANSPORT_MAX_OPS]; /* not yet taken by the driver */
	unsigned num_queued;
	struct op_done refused[TRANSPORT_MAX_OPS]; /* by the driver, with its error */
	unsigned num_refused;
	unsigned num_in_flight; /* taken by the driver */
	uint32_t uses[TRANSPORT_MAX_OPS];
	bool in_flight[TRANSPORT_MAX_OPS];
};

static struct device *device(struct transport *t)
{
	return (struct device *)t;
}

static int control(struct device *d, unsigned long request, void *argument)
{
	int r;

	do
		r = ioctl(d->fd, request, argument);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static uint64_t tag(const struct device *d, uint32_t slot)
{
	return (uint64_t)d->uses[slot] << 32 | slot;
}

static void device_start(struct transport *t, const struct op *op)
{
	struct device *d = device(t);

	/* Only READs come here.  OPEN, STAT, PUBLISH and KEYS go through call(), CLOSE through
	 * drop_handle(). */
	d->uses[op->slot]++;
	d->in_flight[op->slot] = true;
	d->queued[d->num_queued++] = (struct vread_ioc_read){
		.user_data = tag(d, op->slot),
		.offset = op->offset,
		.handle = op->handle,
		.length = op->length,
		.slice_offset = op->slice_offset,
	};
}

static void refuse(struct device *d, uint32_t slot, int error)
{
	d->refused[d->num_refused++] = (struct op_done){
		.slot = slot,
		.status = error == -ENODEV ? -ENOTCONN : error,
	};
	d->in_flight[slot] = false;
}

/*
 * What the program's epoll waits for.  Without a backend the driver reports EPOLLERR all the time.
 * EPOLLET makes that one event.  When the backend is back, the driver wakes the epoll, which finds
 * EPOLLOUT.
 */
static struct epoll_event watched(const struct device *d)
{
	if (d->rests)
		return (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET};
	return (struct epoll_event){.events = d->waits_for_room ? EPOLLIN | EPOLLOUT : EPOLLIN};
}

static void update_watch(struct device *d)
{
	struct epoll_event event = watched(d);

	/* Cannot fail: fd was added, and a change needs no memory. */
	if (d->epoll_fd >= 0)
		epoll_ctl(d->epoll_fd, EPOLL_CTL_MOD, d->fd, &event);
}

static void set_waits_for_room(struct device *d, bool waits)
{
	if (d->waits_for_room == waits)
		return;
	__atomic_store_n(&d->waits_for_room, waits, __ATOMIC_RELAXED);
	update_watch(d);
}

static bool device_flush(struct transport *t)
{
	struct device *d = device(t);
	unsigned done = 0;

	while (done < d->num_queued) {
		struct vread_ioc_submit submit = {
			.reads = (uintptr_t)(d->queued + done),
			.count = d->num_queued - done,
		};
		int r = control(d, VREAD_IOC_SUBMIT, &submit);

		if (r == -EAGAIN)
			break;
		if (r > 0) {
			done += (unsigned)r;
			d->num_in_flight += (unsigned)r;
		} else {
			refuse(d, (uint32_t)d->queued[done++].user_data, r ?: -EIO);
		}
	}
	d->num_queued -= done;
	memmove(d->queued, d->queued + done, d->num_queued * sizeof(d->queued[0]));
	set_waits_for_room(d, d->num_queued);
	return d->num_queued || d->num_refused;
}

/* An ioctl that waits for its answer.  Signals neither end nor prolong the wait. */
static int waiting_control(struct device *d, unsigned long request, void *argument,
			   uint32_t *timeout_ms, uint64_t deadline)
{
	do {
		*timeout_ms = vclock_ms_left(deadline);
		if (!*timeout_ms)
			return -ETIME;
		if (ioctl(d->fd, request, argument) >= 0)
			return 0;
	} while (errno == EINTR);
	return -errno;
}

static int call_open(struct device *d, struct op *op, uint64_t deadline)
{
	struct vread_ioc_open open = {
		.data = (uintptr_t)op->data,
		.data_length = op->data_length,
		.block_id = op->block_id,
		.genstamp = op->genstamp,
		.visible_length = op->visible_length,
	};
	int r = waiting_control(d, VREAD_IOC_OPEN, &open, &open.timeout_ms, deadline);

	op->handle = open.handle;
	op->flags = open.flags;
	op->block_length = open.length;
	op->block_genstamp = op->genstamp; /* the backend opens no other stamp */
	return r;
}

static int call_stat(struct device *d, struct op *op, uint64_t deadline)
{
	struct vread_ioc_stat stat = {.handle = op->handle};
	int r = waiting_control(d, VREAD_IOC_STAT, &stat, &stat.timeout_ms, deadline);

	op->flags = stat.flags;
	op->block_length = stat.length;
	op->block_genstamp = stat.genstamp;
	return r;
}

static int call_publish(struct device *d, struct op *op, uint64_t deadline)
{
	struct vread_ioc_publish publish = {
		.data = (uintptr_t)op->data,
		.data_length = op->data_length,
		.block_id = op->block_id,
		.genstamp = op->genstamp,
		.length = op->new_length,
		.event = op->event,
	};
	int r = waiting_control(d, VREAD_IOC_PUBLISH, &publish, &publish.timeout_ms, deadline);

	return r == -ENOTTY ? -EOPNOTSUPP : r; /* ENOTTY: an older driver without PUBLISH */
}

static int call_keys(struct device *d, struct op *op, uint64_t deadline)
{
	struct vread_ioc_keys keys = {
		.data = (uintptr_t)op->data,
		.data_length = op->data_length,
		.tokens = op->tokens,
	};
	int r = waiting_control(d, VREAD_IOC_KEYS, &keys, &keys.timeout_ms, deadline);

	return r == -ENOTTY ? -EOPNOTSUPP : r;
}

static int call(struct device *d, struct op *op, uint64_t deadline)
{
	switch (op->kind) {
	case VREAD_OP_OPEN:
		return call_open(d, op, deadline);
	case VREAD_OP_PUBLISH:
		return call_publish(d, op, deadline);
	case VREAD_OP_KEYS:
		return call_keys(d, op, deadline);
	default:
		return call_stat(d, op, deadline);
	}
}

/* ENODEV of the backend is about the block.  ENODEV of the driver says that the device was removed,
 * and then INFO gets it, too. */
static bool is_removed(struct device *d)
{
	struct vread_ioc_info info;

	return control(d, VREAD_IOC_INFO, &info) == -ENODEV;
}

static int device_call(struct transport *t, struct op *op, uint64_t deadline)
{
	int r = call(device(t), op, deadline);

	return r == -ENODEV && is_removed(device(t)) ? -ENOTCONN : r;
}

static void device_drop_handle(struct transport *t, uint32_t handle)
{
	control(device(t), VREAD_IOC_CLOSE, &handle);
}

static unsigned take_refused(struct device *d, struct op_done *done, unsigned max)
{
	unsigned n = d->num_refused < max ? d->num_refused : max;

	d->num_refused -= n;
	memcpy(done, d->refused + d->num_refused, n * sizeof(*done));
	return n;
}

/* False if c is not the completion of the present use of its slot. */
static bool accept_completion(struct device *d, const struct vread_ioc_completion *c,
			      struct op_done *ret)
{
	uint32_t slot = (uint32_t)c->user_data;

	if (slot >= d->base.max_ops || !d->in_flight[slot] || c->user_data != tag(d, slot))
		return false;
	d->in_flight[slot] = false;
	d->num_in_flight--;
	*ret = (struct op_done){.slot = slot, .status = c->result, .crc32c = c->crc32c};
	return true;
}

static bool device_alive(struct transport *t)
{
	struct vread_ioc_info info = {0};

	return !control(device(t), VREAD_IOC_INFO, &info) && info.connected;
}

static int device_reap(struct transport *t, struct op_done *done, unsigned max)
{
	struct device *d = device(t);
	struct vread_ioc_completion completions[REAP_MAX];
	struct vread_ioc_reap request = {
		.completions = (uintptr_t)completions,
		.count = max < REAP_MAX ? max : REAP_MAX,
	};
	unsigned n;
	int r;

	if (d->num_queued)
		device_flush(t);
	n = take_refused(d, done, max);
	while (!n) {
		r = control(d, VREAD_IOC_REAP, &request);
		if (r <= 0)
			break;
		for (int i = 0; i < r; i++)
			n += accept_completion(d, &completions[i], done + n);
	}
	/* The driver completes every READ it has taken, also when the backend goes away.  So
	 * nothing in flight is lost here. */
	if (!n && !d->num_in_flight && !d->num_queued && !device_alive(t))
		return -ENOTCONN;
	return (int)n;
}

static bool device_arm(struct transport *t)
{
	struct device *d = device(t);
	struct pollfd fd = {.fd = d->fd, .events = POLLIN};

	return d->num_refused || (poll(&fd, 1, 0) > 0 && fd.revents & POLLIN);
}

static bool device_wait(struct transport *t, int kick_fd, unsigned batch, uint64_t deadline,
			bool brief)
{
	struct device *d = device(t);
	bool for_room = __atomic_load_n(&d->waits_for_room, __ATOMIC_RELAXED);
	struct pollfd fds[] = {
		{.fd = d->fd, .events = for_room ? POLLIN | POLLOUT : POLLIN},
		{.fd = kick_fd, .events = POLLIN},
	};

	/* A READ that is queued or refused from now on makes the engine write to kick_fd. */
	(void)batch; /* the driver decides when it wakes this thread */
	if (vclock_poll(fds, 2, deadline, brief) <= 0)
		return false;
	/* The backend went away.  The driver is about to complete what was in flight. */
	if (fds[0].revents & (POLLERR | POLLHUP) && !(fds[0].revents & POLLIN))
		vclock_poll(&fds[1], 1, vclock_deadline(1), false);
	return true;
}

static int device_watch(struct transport *t, int epoll_fd)
{
	struct device *d = device(t);
	struct epoll_event event = watched(d);

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, d->fd, &event) < 0)
		return -errno;
	d->epoll_fd = epoll_fd;
	return 0;
}

static void device_rest(struct transport *t, bool rest)
{
	struct device *d = device(t);
	struct epoll_event taken[2];

	if (d->rests != rest) {
		d->rests = rest;
		update_watch(d);
	}
	if (!rest)
		return;
	/* poll() of the epoll reports an event, also with EPOLLET, until epoll_wait() has taken
	 * it.  If that event was the return of the backend, ask for it again. */
	epoll_wait(d->epoll_fd, taken, 2, 0);
	if (device_alive(t))
		update_watch(d);
}

static void device_destroy(struct transport *t, bool shared)
{
	struct device *d = device(t);

	(void)shared; /* the driver ends the connection when the last copy of fd is closed */
	if (d->base.slice)
		munmap((void *)d->base.slice, d->base.slice_bytes);
	close(d->fd);
	free(d);
}

static const struct transport_ops device_ops = {
	.start = device_start,
	.flush = device_flush,
	.call = device_call,
	.drop_handle = device_drop_handle,
	.reap = device_reap,
	.arm = device_arm,
	.wait = device_wait,
	.watch = device_watch,
	.rest = device_rest,
	.alive = device_alive,
	.destroy = device_destroy,
};

static int set_up(struct device *d, size_t slice_bytes)
{
	struct vread_ioc_info info = {0};
	struct vread_ioc_slice slice = {.bytes = slice_bytes};
	void *map;
	int r = control(d, VREAD_IOC_INFO, &info);

	if (r)
		return r == -ENOTTY ? -EINVAL : r;
	if (info.abi != VREAD_IOC_ABI)
		return -EPROTO;
	if (!info.connected)
		return -ENOTCONN;
	r = control(d, VREAD_IOC_SLICE, &slice);
	if (r)
		return r;
	map = mmap(NULL, slice_bytes, PROT_READ, MAP_SHARED, d->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	d->base.slice = map;
	d->base.max_ops =
		info.max_in_flight < TRANSPORT_MAX_OPS ? info.max_in_flight : TRANSPORT_MAX_OPS;
	return d->base.max_ops ? 0 : -EPROTO;
}

int device_connect(int fd, size_t slice_bytes, struct transport **ret)
{
	struct device *d = calloc(1, sizeof(*d));
	int r;

	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	d->fd = fd;
	d->epoll_fd = -1;
	d->base.ops = &device_ops;
	d->base.slice_bytes = slice_bytes;
	d->base.reconnects = true;
	r = set_up(d, slice_bytes);
	if (r) {
		device_destroy(&d->base, false);
		return r;
	}
	*ret = &d->base;
	return 0;
}
