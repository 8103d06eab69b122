// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements remote.h: requests that other hosts answer. dispatch.c starts the requests, queue.c
 * takes the responses.
 *
 * There is one place for each id of the ring, since an id is used for one request at a time. So
 * nothing is allocated per request. Ended requests are in a list. The link's thread writes the
 * eventfd while it holds the lock. So when the last request has been taken out, no thread of a link
 * is left in this file, and everything may be freed.
 *
 * All guests of this host share a link to a peer and its queue. So a ring has at most MOST_BYTES of
 * READs and MOST_REQUESTS of READs and STATs under way, enough to keep a link busy. Further READs
 * and STATs wait in this file. peer_open() limits OPENs.
 */
#include "ring/remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/trace.h"
#include "peer/peer.h"
#include "ring/dispatch.h"
#include "read/handles.h"

#define MOST_BYTES (8U << 20) /* of READs under way, unless a single READ is larger */
#define MOST_REQUESTS 32U     /* as many as a peer answers at a time */

struct remote_request {
	struct remote *remote;
	struct remote_request *next; /* the next in the list of ended or of waiting requests */
	uint8_t operation;
	uint32_t number; /* of the handle that the request holds; 0 for an OPEN */
	int here;        /* of an OPEN: the parameter of remote_open() */
	bool traced;
	struct trace_record trace;
	/* Of a READ or a STAT: */
	struct peer_handle *handle;
	/* Of a READ: */
	uint64_t offset;
	size_t offset_in_pool;
	uint32_t length;
	/* The result: */
	ssize_t result;
	struct peer_handle *opened;
	struct block_info info;
	uint32_t crc32c; /* of a READ */
};

struct remote {
	struct dispatch *dispatch;
	int fd;
	/* Protects the next fields. Taken before `lock` and the locks of peer/. */
	pthread_mutex_t counting;
	unsigned under_way; /* requests not taken out yet */
	unsigned at_peers;  /* READs and STATs under way */
	uint64_t bytes;     /* of READs under way */
	struct remote_request *waiting, *last_waiting;
	pthread_mutex_t lock;
	_Atomic(struct remote_request *) ended; /* written under lock */
	struct remote_request *last_ended;
	struct remote_request request[]; /* by id */
};

int remote_new(struct dispatch *d, unsigned num_ids, struct remote **ret)
{
	struct remote *r = calloc(1, sizeof(*r) + num_ids * sizeof(r->request[0]));

	if (!r)
		return -ENOMEM;
	r->dispatch = d;
	r->fd = eventfd(0, EFD_CLOEXEC);
	if (r->fd < 0) {
		free(r);
		return -errno;
	}
	pthread_mutex_init(&r->counting, NULL);
	pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

void remote_free(struct remote *r)
{
	struct vread_response unsaid;

	if (!r)
		return;
	while (r->under_way)
		if (!remote_take(r, &unsaid))
			remote_heard(r);
	close(r->fd);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->counting);
	free(r);
}

/* ---- ends, on a thread of the peer's link --------------------------------------- */

static void ended(struct remote_request *request)
{
	struct remote *r = request->remote;
	bool first;

	request->next = NULL;
	pthread_mutex_lock(&r->lock);
	first = !atomic_load_explicit(&r->ended, memory_order_relaxed);
	if (first)
		atomic_store_explicit(&r->ended, request, memory_order_release);
	else
		r->last_ended->next = request;
	r->last_ended = request;
	if (first)
		eventfd_write(r->fd, 1);
	pthread_mutex_unlock(&r->lock);
}

static void opened(void *ctx, int result, struct peer_handle *handle, const struct block_info *info)
{
	struct remote_request *request = ctx;

	request->result = result;
	if (result == 0) {
		request->opened = handle;
		request->info = *info;
	}
	ended(request);
}

static void done(void *ctx, ssize_t result, uint32_t crc32c)
{
	struct remote_request *request = ctx;

	request->result = result;
	request->crc32c = crc32c;
	ended(request);
}

static void looked(void *ctx, int result, const struct block_info *info)
{
	struct remote_request *request = ctx;

	request->result = result;
	if (result == 0)
		request->info = *info;
	ended(request);
}

/* ---- beginnings ------------------------------------------------------------------ */

static struct remote_request *prepare(struct remote *r, const struct vread_request *request)
{
	struct remote_request *place = &r->request[request->id];

	*place = (struct remote_request){
		.remote = r,
		.operation = request->operation,
		.number = request->handle,
	};
	if (trace_current) {
		place->traced = true;
		place->trace = *trace_current;
	}
	return place;
}

/* With `counting`. Notes that a request was started. err: result of the function that starts it. */
static int begun(struct remote *r, const struct remote_request *request, int err)
{
	if (err) {
		if (request->number)
			handles_put(r->dispatch->reader.handles, request->number);
		return err;
	}
	r->under_way++;
	return -EINPROGRESS;
}

int remote_open(struct remote *r, const struct vread_request *request,
		const struct block_name *name, int here)
{
	struct remote_request *place = prepare(r, request);
	struct dispatch *d = r->dispatch;
	int err;

	place->here = here;
	pthread_mutex_lock(&r->counting);
	err = peer_open(d->peers, d->peer_pool, d->conn->policy, name, opened, place);
	err = begun(r, place, err == -ENODEV ? here : err);
	pthread_mutex_unlock(&r->counting);
	return err;
}

/* With `counting`, as the next three functions. */
static bool has_room(const struct remote *r, const struct remote_request *request)
{
	return r->at_peers < MOST_REQUESTS &&
	       (r->bytes == 0 || r->bytes + request->length <= MOST_BYTES);
}

/* Counts a READ or a STAT that was started, and that take() is to find at its end. */
static void count(struct remote *r, const struct remote_request *request)
{
	r->at_peers++;
	r->bytes += request->length;
}

static int start(struct remote *r, struct remote_request *q)
{
	int err;

	if (q->operation == VREAD_OP_STAT)
		err = peer_stat(q->handle, looked, q);
	else
		err = peer_read(q->handle, q->offset, q->offset_in_pool, q->length, done, q);
	if (!err)
		count(r, q);
	return err;
}

static int start_or_queue(struct remote *r, struct remote_request *request)
{
	if (!r->waiting && has_room(r, request))
		return begun(r, request, start(r, request));
	if (r->waiting)
		r->last_waiting->next = request;
	else
		r->waiting = request;
	r->last_waiting = request;
	return begun(r, request, 0);
}

/* Starts a READ or a STAT now or later, in the order of the calls. */
static int start_in_order(struct remote *r, struct remote_request *request)
{
	int err;

	pthread_mutex_lock(&r->counting);
	err = start_or_queue(r, request);
	pthread_mutex_unlock(&r->counting);
	return err;
}

int remote_read(struct remote *r, const struct vread_request *request, struct peer_handle *handle)
{
	struct remote_request *place = prepare(r, request);

	place->handle = handle;
	place->offset = request->u.read.offset;
	place->offset_in_pool = (size_t)request->pool_page * VREAD_PAGE_SIZE;
	place->length = request->u.read.length;
	return start_in_order(r, place);
}

/*
 * With `counting`. Starts waiting requests while there is room. A request that cannot be started
 * counts as ended.
 */
static void start_waiting(struct remote *r)
{
	while (r->waiting && has_room(r, r->waiting)) {
		struct remote_request *request = r->waiting;
		int err;

		r->waiting = request->next;
		err = start(r, request);
		if (err) {
			count(r, request);
			done(request, err, 0);
		}
	}
}

int remote_stat(struct remote *r, const struct vread_request *request, struct peer_handle *handle)
{
	struct remote_request *place = prepare(r, request);

	place->handle = handle;
	return start_in_order(r, place);
}

/* ---- responses ---------------------------------------------------------------------- */

int remote_fd(const struct remote *r)
{
	return r ? r->fd : -1;
}

void remote_heard(struct remote *r)
{
	eventfd_t value;

	eventfd_read(r->fd, &value); /* waits; a signal ends the wait, too */
}

static struct remote_request *take(struct remote *r)
{
	struct remote_request *first;

	if (!atomic_load_explicit(&r->ended, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&r->lock);
	first = atomic_load_explicit(&r->ended, memory_order_relaxed);
	atomic_store_explicit(&r->ended, first->next, memory_order_relaxed);
	pthread_mutex_unlock(&r->lock);
	pthread_mutex_lock(&r->counting);
	r->under_way--;
	if (first->operation != VREAD_OP_OPEN) {
		r->at_peers--;
		r->bytes -= first->length;
	}
	start_waiting(r);
	pthread_mutex_unlock(&r->counting);
	return first;
}

/* Returns the status of an OPEN that a peer has answered, and adds the handle. */
static int keep(struct dispatch *d, struct remote_request *request, struct vread_response *response)
{
	struct handle h = {request->opened, HANDLE_PEER};
	int err;

	if (request->result < 0)
		return request->result == -ENODEV ? request->here : (int)request->result;
	err = handles_add(d->reader.handles, h, &response->handle);
	if (err)
		peer_close(request->opened);
	return err;
}

/* Keeps the trace. All time outside TRACE_FIND counts as TRACE_REMOTE, the peer's time. */
static void keep_trace(const struct dispatch *d, struct remote_request *request,
		       const struct vread_response *response)
{
	struct trace_record *t = &request->trace;

	t->stage[TRACE_REMOTE] = clock_measure_ns() - t->begun - t->stage[TRACE_FIND];
	trace_keep(t, d->conn->name, response->operation, response->status);
}

bool remote_take(struct remote *r, struct vread_response *ret)
{
	struct remote_request *request = r ? take(r) : NULL;
	struct dispatch *d;

	if (!request)
		return false;
	d = r->dispatch;
	*ret = (struct vread_response){
		.id = (uint16_t)(request - r->request),
		.operation = request->operation,
		.status = (int32_t)request->result,
	};
	if (request->operation == VREAD_OP_OPEN)
		ret->status = keep(d, request, ret);
	if (ret->status > 0 && request->operation == VREAD_OP_READ)
		ret->u.read.crc32c = request->crc32c; /* as the host said that verified the bytes */
	if (ret->status == 0 && request->operation != VREAD_OP_READ) {
		dispatch_fill_block(ret, &request->info);
		ret->flags |= VREAD_BLOCK_REMOTE;
	}
	if (request->number)
		handles_put(d->reader.handles, request->number);
	counters_response(&d->counters, ret->operation, ret->status);
	counters_remote(&d->counters, ret->operation, ret->status);
	if (request->traced)
		keep_trace(d, request, ret);
	return true;
}
