// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements queue.h: the worker thread of one ring. session.c starts and ends it.
 *
 * The frontend can change everything in the shared ring page at any moment. So the indexes live in
 * a private vread_back_ring, and the shared producer index is read once per turn and checked. Each
 * request is copied once, and only the copy is checked and used.
 *
 * A turn takes at most the number of requests that one ring holds. Between turns the worker yields.
 * The worker allows the next event only after a turn that left the ring empty, and events that
 * bring no request are slowed down. So a frontend can keep its own worker busy, and nothing else.
 *
 * The worker does not wait for other hosts. Their responses (remote.h) go on the ring between two
 * requests, or wake the worker.
 */
#include "ring/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/trace.h"
#include "ring/remote.h"

#define SPURIOUS_FREE 16 /* events in a row without a request, before slowing down */
#define SPURIOUS_DELAY_MS 2
#define SIGNAL_PAUSE_MS 50 /* time for a worker to see that it must end */

struct queue {
	struct queue_shared *shared;
	struct port_conn *conn;
	unsigned index;
	pthread_t thread;
	sem_t ended; /* posted by the thread as its last act */
	vread_back_ring_t ring;
	struct vread_request *batch; /* as many as the ring holds */
	uint8_t *in_flight;          /* one per id: request copied in, not yet answered */
	struct dispatch_scratch scratch;
};

static bool halted(const struct queue *q)
{
	return atomic_load(&q->shared->halt);
}

static void broken(struct queue *q, const char *reason)
{
	atomic_store(&q->shared->halt, true);
	q->conn->ops->fail(q->conn, reason);
}

/* Polls fds up to timeout_ms (-1: forever). False: halted. */
static bool wait_for(struct queue *q, struct pollfd *fds, unsigned count, int timeout_ms)
{
	while (clock_rest_poll(fds, count, timeout_ms) < 0) {
		if (errno == EINTR)
			continue;
		log_device(LOG_LEVEL_ERROR, q->conn->name, "queue %u: poll: %m", q->index);
		broken(q, "cannot wait for events");
		return false;
	}
	return !halted(q);
}

/* Waits for an event of the frontend or a response of a peer. False: halted. */
static bool wait_for_work(struct queue *q, bool *ret_event)
{
	struct pollfd fds[3] = {
		{.fd = q->shared->halt_fd, .events = POLLIN},
		{.fd = q->conn->ops->event_fd(q->conn, q->index), .events = POLLIN},
		{.fd = remote_fd(q->scratch.remote), .events = POLLIN},
	};

	if (!wait_for(q, fds, 3, -1))
		return false;
	if (fds[2].revents)
		remote_heard(q->scratch.remote);
	*ret_event = fds[1].revents;
	return true;
}

static bool slow_down(struct queue *q)
{
	struct pollfd halt = {.fd = q->shared->halt_fd, .events = POLLIN};

	return wait_for(q, &halt, 1, SPURIOUS_DELAY_MS);
}

/*
 * Copies in the requests on the ring. Returns their number, or -1 after a protocol error. The
 * number never exceeds the size of the ring less the requests not yet answered, so the batch always
 * has room.
 */
static int copy_in(struct queue *q)
{
	RING_IDX producer = *(volatile RING_IDX *)&q->ring.sring->req_prod;
	int n = 0;

	xen_rmb(); /* read the requests after the index that announces them */
	if (RING_REQUEST_PROD_OVERFLOW(&q->ring, producer)) {
		broken(q, "request producer index beyond the ring");
		return -1;
	}
	while (q->ring.req_cons != producer) {
		struct vread_request *r = &q->batch[n++];

		RING_COPY_REQUEST(&q->ring, q->ring.req_cons, r);
		q->ring.req_cons++;
		if (r->id >= RING_SIZE(&q->ring)) {
			broken(q, "request id beyond the ring");
			return -1;
		}
		if (q->in_flight[r->id]) {
			broken(q, "request id used again before its response");
			return -1;
		}
		q->in_flight[r->id] = 1;
	}
	return n;
}

/* Puts a response on the ring. True if the frontend asked to be notified of it. */
static bool push(struct queue *q, const struct vread_response *response)
{
	int notify;

	q->in_flight[response->id] = 0;
	memcpy(RING_GET_RESPONSE(&q->ring, q->ring.rsp_prod_pvt), response, sizeof(*response));
	q->ring.rsp_prod_pvt++;
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&q->ring, notify);
	return notify;
}

/*
 * Carries out a request: answers it or starts it on another host. False: halted, nothing was
 * answered.
 */
static bool serve(struct queue *q, const struct vread_request *request)
{
	struct dispatch *d = &q->shared->dispatch;
	struct vread_response response = {0};
	bool answer, goes_on, notify = false, traced;
	struct trace_record trace;

	traced = trace_begin(&trace);
	answer = dispatch_request(d, &q->scratch, request, &response);
	trace_end();
	if (!answer)
		return !halted(q);
	answer = dispatch_seal(d, &q->scratch, request, &response);
	goes_on = !halted(q);
	if (answer && traced) /* before push(): whoever sees the response finds the trace record */
		trace_keep(&trace, q->conn->name, response.operation, response.status);
	if (answer && goes_on)
		notify = push(q, &response);
	dispatch_unseal(&q->scratch);
	if (notify)
		q->conn->ops->notify(q->conn, q->index);
	return goes_on;
}

/* Puts the responses that peers have given by now on the ring. False: halted. */
static bool answer_remote(struct queue *q)
{
	struct vread_response response;
	bool notify = false;

	while (remote_take(q->scratch.remote, &response)) {
		if (halted(q))
			return false;
		notify |= push(q, &response);
	}
	if (notify)
		q->conn->ops->notify(q->conn, q->index);
	return true;
}

/* Serves the requests on the ring. Returns their number, or -1 to end. */
static int turn(struct queue *q)
{
	int n = copy_in(q);

	for (int i = 0; i < n; i++)
		if (!serve(q, &q->batch[i]) || !answer_remote(q))
			return -1;
	return n;
}

/*
 * Takes turns until the ring is empty. Returns 0 if there was no request, more than 0 if there were
 * any, -1 to end.
 */
static int drain(struct queue *q)
{
	int total = 0, more;

	do {
		int n = turn(q);

		if (n < 0 || halted(q))
			return -1;
		total |= n;
		RING_FINAL_CHECK_FOR_REQUESTS(&q->ring, more);
		if (more)
			sched_yield();
	} while (more);
	return total;
}

/* Handles one event. False: end the worker. */
static bool serve_event(struct queue *q, unsigned *spurious)
{
	int n, err = q->conn->ops->event_take(q->conn, q->index);

	if (err) {
		log_device(LOG_LEVEL_ERROR, q->conn->name, "queue %u: event channel: %s", q->index,
			   strerror(-err));
		broken(q, "event channel is broken");
		return false;
	}
	n = drain(q);
	if (n < 0)
		return false;
	*spurious = n ? 0 : *spurious + 1;
	if (*spurious > SPURIOUS_FREE && !slow_down(q))
		return false;
	q->conn->ops->event_rearm(q->conn, q->index);
	return true;
}

static void *worker(void *arg)
{
	struct queue *q = arg;
	unsigned spurious = 0;
	bool event;

	pthread_mutex_lock(&q->shared->starting);
	pthread_mutex_unlock(&q->shared->starting);
	while (wait_for_work(q, &event)) {
		if (!answer_remote(q))
			break;
		if (event && !serve_event(q, &spurious))
			break;
	}
	remote_free(q->scratch.remote);
	sem_post(&q->ended);
	return NULL;
}

static void queue_free(struct queue *q)
{
	sem_destroy(&q->ended);
	free(q->batch);
	free(q->in_flight);
	free(q);
}

int queue_start(struct queue **ret, struct queue_shared *shared, unsigned index)
{
	struct port_conn *conn = shared->dispatch.conn;
	const struct port_queue *pq = &conn->queue[index];
	struct queue *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->shared = shared;
	q->conn = conn;
	q->index = index;
	sem_init(&q->ended, 0, 0);
	BACK_RING_INIT(&q->ring, (vread_sring_t *)pq->sring, pq->ring_bytes);
	q->batch = calloc(RING_SIZE(&q->ring), sizeof(*q->batch));
	q->in_flight = calloc(RING_SIZE(&q->ring), 1);
	err = q->batch && q->in_flight ? 0 : -ENOMEM;
	if (!err && shared->dispatch.peers)
		err = remote_new(&shared->dispatch, RING_SIZE(&q->ring), &q->scratch.remote);
	if (!err)
		err = -pthread_create(&q->thread, NULL, worker, q);
	if (err) {
		remote_free(q->scratch.remote);
		queue_free(q);
		return err;
	}
	*ret = q;
	return 0;
}

/*
 * A frontend that shares a file descriptor with vreadd can make a notification block. A signal ends
 * the blocked call. The handler of SIGURG does nothing.
 */
void queue_join(struct queue *q)
{
	do
		pthread_kill(q->thread, SIGURG);
	while (!clock_rest_sem(&q->ended, SIGNAL_PAUSE_MS));
	pthread_join(q->thread, NULL);
	queue_free(q);
}
