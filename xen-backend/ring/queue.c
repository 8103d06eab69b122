/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.c - see queue.h.
 *
 * Everything in the shared ring page is the frontend's to change at any
 * moment.  So: indexes live in a private vread_back_ring, the shared producer
 * index is read once per turn and checked, and each request is copied once
 * and judged and used only as that copy.
 *
 * A turn takes at most what one ring holds.  Between turns the worker yields;
 * it lets the next event come only after a turn that left the ring empty, and
 * events that bring no request are slowed down: a frontend can keep its own
 * worker busy, and nothing else.
 */
#include "ring/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"

#define SPURIOUS_FREE 16 /* events without a request in a row before slowing down */
#define SPURIOUS_DELAY_MS 2

struct queue {
	struct queue_shared *shared;
	struct port_conn *conn;
	unsigned index;
	pthread_t thread;
	sem_t ended; /* by the thread, as its last act */
	vread_back_ring_t ring;
	struct vread_request *batch; /* as many as the ring holds */
	uint8_t *in_flight;          /* one per id: copied in, not yet answered */
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

/* Waits up to timeout_ms (-1: for ever) for an event (if wanted) or the halt. */
static bool wait_for(struct queue *q, bool want_event, int timeout_ms)
{
	struct pollfd fds[2] = {
		{.fd = q->shared->halt_fd, .events = POLLIN},
		{.fd = q->conn->ops->event_fd(q->conn, q->index), .events = POLLIN},
	};

	while (poll(fds, want_event ? 2 : 1, timeout_ms) < 0) {
		if (errno == EINTR)
			continue;
		log_error("%s: queue %u: poll: %m", q->conn->name, q->index);
		broken(q, "cannot wait for events");
		return false;
	}
	return !halted(q);
}

/*
 * Copies in what is there: the number of requests, or -1 after a protocol
 * error.  All former requests have been answered, so the whole ring is free
 * for new ones and a batch never outgrows it.
 */
static int copy_in(struct queue *q)
{
	RING_IDX producer = *(volatile RING_IDX *)&q->ring.sring->req_prod;
	int n = 0;

	xen_rmb(); /* see the requests the index announces */
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

/* Whether the frontend asked to be told of it. */
static bool push(struct queue *q, const struct vread_response *response)
{
	int notify;

	q->in_flight[response->id] = 0;
	memcpy(RING_GET_RESPONSE(&q->ring, q->ring.rsp_prod_pvt), response, sizeof(*response));
	q->ring.rsp_prod_pvt++;
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&q->ring, notify);
	return notify;
}

/* Carries a request out and answers it; false: halted, nothing was answered. */
static bool serve(struct queue *q, const struct vread_request *request)
{
	struct dispatch *d = &q->shared->dispatch;
	struct vread_response response = {0};
	bool answer, notify = false;

	dispatch_request(d, &q->scratch, request, &response);
	dispatch_seal(d, &q->scratch, &response);
	answer = !halted(q);
	if (answer)
		notify = push(q, &response);
	dispatch_unseal(d, &q->scratch);
	if (notify)
		q->conn->ops->notify(q->conn, q->index);
	return answer;
}

/* Serves what is there; the number of requests, or -1 to end. */
static int turn(struct queue *q)
{
	int n = copy_in(q);

	for (int i = 0; i < n; i++)
		if (!serve(q, &q->batch[i]))
			return -1;
	return n;
}

/* Turns until the ring is empty; how many requests there were, or -1 to end. */
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

static void *worker(void *arg)
{
	struct queue *q = arg;
	unsigned spurious = 0;

	while (wait_for(q, true, -1)) {
		int n, err = q->conn->ops->event_take(q->conn, q->index);

		if (err) {
			log_error("%s: queue %u: event channel: %s", q->conn->name, q->index,
				  strerror(-err));
			broken(q, "event channel is broken");
			break;
		}
		n = drain(q);
		if (n < 0)
			break;
		spurious = n ? 0 : spurious + 1;
		if (spurious > SPURIOUS_FREE && !wait_for(q, false, SPURIOUS_DELAY_MS))
			break;
		q->conn->ops->event_rearm(q->conn, q->index);
	}
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
	err = q->batch && q->in_flight ? pthread_create(&q->thread, NULL, worker, q) : ENOMEM;
	if (err) {
		queue_free(q);
		return -err;
	}
	*ret = q;
	return 0;
}

/*
 * A frontend that shares a file descriptor with us can make a notification
 * block; a signal ends that.  SIGURG has a handler that does nothing.
 */
void queue_join(struct queue *q)
{
	struct timespec until;

	do {
		pthread_kill(q->thread, SIGURG);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 50000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
	} while (sem_clockwait(&q->ended, CLOCK_MONOTONIC, &until) && errno != EINVAL);
	pthread_join(q->thread, NULL);
	queue_free(q);
}
