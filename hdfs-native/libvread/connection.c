/* SPDX-License-Identifier: Apache-2.0 */
/* Implements vread_connect_sized(), vread_disconnect(), vread_connected() and vread_event_fd() of
 * vread.h, and the functions on connections of connection.h. */
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cancel.h"
#include "clock.h"
#include "sized.h"

#define DEFAULT_ENDPOINT "/dev/vread"
#define DEFAULT_POOL_BYTES ((size_t)4 << 20)
#define SMALL_POOL_BYTES ((size_t)VREAD_SMALL_SHARE_PAGES * VREAD_PAGE_SIZE)
#define MIN_POOL_BYTES ((size_t)VREAD_MIN_POOL_PAGES * VREAD_PAGE_SIZE)
#define MAX_POOL_BYTES ((size_t)VREAD_MAX_POOL_PAGES * VREAD_PAGE_SIZE)
#define DEFAULT_TIMEOUT_MS 2000
#define MOST_DEFAULT_QUEUES 4
#define DEFAULT_READAHEAD ((size_t)2 << 20)

/* Long reads are cut into pieces, so that the backend verifies a piece while the piece before is
 * copied out.  Smaller pieces overlap better, larger pieces need fewer wake-ups. */
#define MAX_CHUNK_BYTES ((size_t)512 << 10)

/* ---- fork ---------------------------------------------------------------- */

/* Number of forks between the process that first connected and this process. */
static atomic_uint forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
	atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

bool connection_forked(const struct vread *v)
{
	return atomic_load_explicit(&forks, memory_order_relaxed) != v->forks;
}

/* ---- connect ------------------------------------------------------------- */

/* Returns a descriptor of the device, or negative errno. */
static int open_device(const char *endpoint, bool publisher)
{
	char node[PATH_MAX];
	int fd;

	if (snprintf(node, sizeof(node), "%s%s", endpoint, publisher ? "-publish" : "") >=
	    (int)sizeof(node))
		return -ENAMETOOLONG;
	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO || errno == ENODEV ? -ENOTCONN : -errno;
	return fd;
}

/*
 * As many queues as the driver of /dev/vread takes by default.  The threads that serve them verify
 * bytes beside each other.  One for a small share: the local port keeps room for small shares with
 * the rings of one queue.  One for a publisher, which reads nothing.
 */
static unsigned default_queues(size_t pool_bytes, bool publisher)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 1 || publisher || pool_bytes <= SMALL_POOL_BYTES)
		return 1;
	return cpus < MOST_DEFAULT_QUEUES ? (unsigned)cpus : MOST_DEFAULT_QUEUES;
}

static int connect_transport(const char *endpoint, size_t pool_bytes, const struct vread_options *o,
			     uint64_t deadline, struct transport **ret)
{
	struct stat st;
	int fd;

	if (stat(endpoint, &st) < 0)
		return -errno;
	if (S_ISSOCK(st.st_mode))
		return local_connect(endpoint, pool_bytes,
				     o->queues ?: default_queues(pool_bytes, o->publisher),
				     deadline, ret);
	if (!S_ISCHR(st.st_mode))
		return -EINVAL;
	fd = open_device(endpoint, o->publisher);
	return fd < 0 ? fd : device_connect(fd, pool_bytes, ret);
}

static size_t down_to_page(size_t bytes)
{
	return bytes & ~((size_t)VREAD_PAGE_SIZE - 1);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t up_to_page(size_t bytes)
{
	return down_to_page(bytes + VREAD_PAGE_SIZE - 1);
}

/* Connects with the pool that the caller wants.  A caller that leaves the size to the library gets
 * less, down to a small share, if other processes have the pool. */
static int connect_with_pool(const char *endpoint, const struct vread_options *o,
			     unsigned timeout_ms, struct transport **ret)
{
	const size_t smallest = o->pool_bytes ?: SMALL_POOL_BYTES;
	const uint64_t deadline = vclock_deadline(timeout_ms);
	size_t bytes = o->pool_bytes ?: DEFAULT_POOL_BYTES;
	int r;

	do {
		r = connect_transport(endpoint, up_to_page(bytes), o, deadline, ret);
		bytes /= 2;
	} while (r == -ENOSPC && bytes >= smallest);
	return r;
}

static void set_sizes(struct vread *v, unsigned readahead)
{
	size_t slice = v->engine.transport->slice_bytes;

	v->chunk_bytes = down_to_page(least(MAX_CHUNK_BYTES, slice / 4));
	if (readahead && readahead < VREAD_PAGE_SIZE)
		v->readahead_bytes = 0;
	else
		v->readahead_bytes = down_to_page(least(readahead ?: DEFAULT_READAHEAD, slice / 2));
}

int vread_connect_sized(struct vread **ret, const struct vread_options *options, size_t size)
{
	NO_CANCEL;
	struct vread_options o = {.endpoint = NULL};
	struct transport *transport;
	const char *endpoint;
	struct vread *v;
	int r = options ? sized_options(&o, options, size) : 0;

	if (r)
		return r;
	if ((o.pool_bytes && o.pool_bytes < MIN_POOL_BYTES) || o.pool_bytes > MAX_POOL_BYTES ||
	    o.queues > VREAD_MAX_QUEUES || o.publisher > 1)
		return -EINVAL;
	endpoint = o.endpoint ?: secure_getenv("VREAD_ENDPOINT") ?: DEFAULT_ENDPOINT;
	pthread_once(&fork_once, watch_forks);
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->event_fd = -1;
	v->forks = atomic_load(&forks);
	v->files.next = v->files.prev = &v->files;
	v->timeout_ms = o.timeout_ms ?: DEFAULT_TIMEOUT_MS;
	r = connect_with_pool(endpoint, &o, v->timeout_ms, &transport);
	if (r) {
		free(v);
		return r;
	}
	r = engine_init(&v->engine, transport, v->timeout_ms, sequential_reclaim);
	if (r) {
		transport->ops->destroy(transport, false);
		free(v);
		return r;
	}
	v->engine.interrupted = o.interrupted;
	v->engine.interrupted_opaque = o.interrupted_opaque;
	set_sizes(v, o.readahead_bytes);
	*ret = v;
	return 0;
}

static void free_closing(struct vread *v)
{
	while (v->closing) {
		struct vread_file *f = v->closing;
		v->closing = f->next_closing;
		free(f);
	}
}

void vread_disconnect(struct vread *v)
{
	NO_CANCEL;
	if (!v)
		return;
	if (v->event_fd >= 0)
		close(v->event_fd);
	engine_destroy(&v->engine, connection_forked(v));
	free_closing(v);
	free(v);
}

int vread_connected(struct vread *v)
{
	NO_CANCEL;
	struct transport *t = v->engine.transport;
	int alive;

	if (connection_forked(v))
		return 0;
	engine_lock(&v->engine);
	alive = !v->engine.dead && t->ops->alive(t);
	engine_unlock(&v->engine);
	return alive;
}

void connection_drop_closing(struct vread *v)
{
	while (v->closing && engine_drop_handle(&v->engine, v->closing->handle)) {
		struct vread_file *f = v->closing;
		v->closing = f->next_closing;
		free(f);
	}
}

/* ---- operations that a thread waits for ----------------------------------- */

int connection_execute(struct vread *v, struct op *op)
{
	struct engine *e = &v->engine;
	size_t slice_bytes = e->transport->data_in_slice ? op->data_length : 0;
	struct request *request;
	uint64_t deadline;
	int r;

	if (e->transport->ops->call)
		return engine_call(e, op);
	deadline = vclock_deadline(v->timeout_ms);
	engine_lock(e);
	connection_drop_closing(v);
	r = engine_take_wait(e, slice_bytes, deadline, &request);
	if (!r) {
		op->slot = request->op.slot;
		op->slice_offset = request->op.slice_offset;
		op->slice_length = request->op.slice_length;
		request->op = *op;
		engine_start(e, request);
		engine_flush(e);
		r = engine_wait(e, request, 1, deadline);
		*op = request->op;
		engine_release(e, request);
	}
	engine_unlock(e);
	return r ?: (op->status < 0 ? op->status : 0);
}

/* ---- event descriptor ---------------------------------------------------- */

/* One descriptor for two sources: the transport, and completions that another waiting thread has
 * already taken from the transport. */
static int make_event_fd(struct vread *v)
{
	struct engine *e = &v->engine;
	struct epoll_event queued = {.events = EPOLLIN};
	int fd, r;

	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	e->async_event_fd = eventfd(e->async_first != NULL, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->async_event_fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, e->async_event_fd, &queued) < 0)
		r = -errno;
	else
		r = e->transport->ops->watch(e->transport, fd);
	if (r) {
		close(fd);
		if (e->async_event_fd >= 0)
			close(e->async_event_fd);
		e->async_event_fd = -1;
		return r;
	}
	v->event_fd = fd;
	e->event_fd_used = true;
	engine_poll(e); /* from here on completions raise events */
	return fd;
}

int vread_event_fd(struct vread *v)
{
	NO_CANCEL;
	int r;

	if (connection_forked(v))
		return -ENOTCONN;
	engine_lock(&v->engine);
	r = v->event_fd >= 0 ? v->event_fd : make_event_fd(v);
	engine_unlock(&v->engine);
	return r;
}
