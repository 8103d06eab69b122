// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements queue.h: the workers of one ring. session.c starts and ends them. The workers are
 * hands (hands.h): all but one wait for a disk or are idle.
 *
 * The frontend can change everything in the shared ring page at any moment. So the indexes live in
 * a private vread_back_ring, and the shared producer index is read once per round and checked. Each
 * request is copied once, and only the copy is checked and used.
 *
 * A round takes at most the number of requests that one ring holds. Between rounds that follow each
 * other at once the worker yields. The worker allows the next event only after a round that left
 * the ring empty, and events that bring no request are slowed down. So a frontend can keep its own
 * workers busy, and nothing else.
 *
 * Each step of the worker that has the turn ends with the state of the queue in struct queue, and
 * carrying out a request is a step of its own. If that request waits for a disk, another worker
 * gets the turn and does the next step. The first one answers its request without the turn.
 *
 * A worker that finds the ring empty looks at it for some microseconds before it sleeps, if its
 * client is likely to send the next request in that time (vread-spin.h).
 *
 * The workers do not wait for other hosts. Their responses (remote.h) go on the ring between two
 * steps, or wake the worker that has the turn.
 */
#include "ring/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/trace.h"
#include "ring/hands.h"
#include "ring/remote.h"
#include "vread-spin.h"

#define SPURIOUS_FREE 16 /* events in a row without a request, before slowing down */
#define SPURIOUS_DELAY_MS 2
#define LOOKS 32 /* at the ring, between two looks at the clock */

struct queue {
	struct queue_shared *shared;
	struct port_conn *conn;
	unsigned index;
	struct hands *hands;
	struct remote *remote; /* NULL: no other host is asked */

	/* Used by the worker that has the turn. */
	bool begun;                  /* the workers of all queues have been started */
	struct vread_request *batch; /* requests of this round; as many as the ring holds */
	unsigned next, count;        /* in the batch: the next to carry out, and the end */
	bool draining;               /* an event was taken, and the ring was not empty since then */
	bool first_round;            /* since the event */
	bool found;                  /* a request since the event */
	unsigned spurious;           /* events in a row without a request */
	struct vread_spin spin;
	uint64_t idle_since; /* the ring has been empty, and all is answered; 0: not so */

	pthread_mutex_t lock; /* protects the fields below; held for copies only */
	vread_back_ring_t ring;
	uint8_t *in_flight; /* one per id: request copied in, not yet answered */
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
		{.fd = remote_fd(q->remote), .events = POLLIN},
	};

	if (!wait_for(q, fds, 3, -1))
		return false;
	if (fds[2].revents)
		remote_heard(q->remote);
	*ret_event = fds[1].revents;
	return true;
}

static bool slow_down(struct queue *q)
{
	struct pollfd halt = {.fd = q->shared->halt_fd, .events = POLLIN};

	return wait_for(q, &halt, 1, SPURIOUS_DELAY_MS);
}

/*
 * With the lock. Copies in the requests on the ring. Returns the rule that the frontend has broken,
 * or NULL. The number of requests never exceeds the size of the ring less the requests not yet
 * answered, so the batch always has room.
 */
static const char *copy_in(struct queue *q)
{
	RING_IDX producer = *(volatile RING_IDX *)&q->ring.sring->req_prod;

	xen_rmb(); /* read the requests after the index that announces them */
	if (RING_REQUEST_PROD_OVERFLOW(&q->ring, producer))
		return "request producer index beyond the ring";
	while (q->ring.req_cons != producer) {
		struct vread_request *r = &q->batch[q->count++];

		RING_COPY_REQUEST(&q->ring, q->ring.req_cons, r);
		q->ring.req_cons++;
		if (r->id >= RING_SIZE(&q->ring))
			return "request id beyond the ring";
		if (q->in_flight[r->id])
			return "request id used again before its response";
		q->in_flight[r->id] = 1;
	}
	return NULL;
}

/* Puts a response on the ring. True if the frontend asked to be notified of it. */
static bool push(struct queue *q, const struct vread_response *response)
{
	int notify;

	pthread_mutex_lock(&q->lock);
	q->in_flight[response->id] = 0;
	memcpy(RING_GET_RESPONSE(&q->ring, q->ring.rsp_prod_pvt), response, sizeof(*response));
	q->ring.rsp_prod_pvt++;
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&q->ring, notify);
	pthread_mutex_unlock(&q->lock);
	return notify;
}

/*
 * Carries out a request: answers it or starts it on another host. The worker may lose its turn
 * meanwhile. False: halted, nothing was answered.
 */
static bool serve(struct queue *q, struct dispatch_scratch *scratch,
		  const struct vread_request *request)
{
	struct dispatch *d = &q->shared->dispatch;
	struct vread_response response = {0};
	bool answer, goes_on, notify = false, traced;
	struct trace_record trace;

	traced = trace_begin(&trace);
	answer = dispatch_request(d, scratch, request, &response);
	trace_end();
	if (!answer)
		return !halted(q);
	answer = dispatch_seal(d, scratch, request, &response);
	goes_on = !halted(q);
	if (answer && traced) /* before push(): whoever sees the response finds the trace record */
		trace_keep(&trace, q->conn->name, response.operation, response.status);
	if (answer && goes_on)
		notify = push(q, &response);
	dispatch_unseal(scratch);
	/* Before the end, which may wait: later responses of other workers rely on this event. */
	if (notify)
		q->conn->ops->notify(q->conn, q->index);
	dispatch_end(scratch);
	return goes_on;
}

/* Puts the responses that peers have given by now on the ring. False: halted. */
static bool answer_remote(struct queue *q)
{
	struct vread_response response;
	bool notify = false;

	while (remote_take(q->remote, &response)) {
		if (halted(q))
			return false;
		notify |= push(q, &response);
	}
	if (notify)
		q->conn->ops->notify(q->conn, q->index);
	return true;
}

/* Looks whether the ring has more requests, and else lets the frontend send an event. */
static bool has_more(struct queue *q)
{
	int more;

	pthread_mutex_lock(&q->lock);
	RING_FINAL_CHECK_FOR_REQUESTS(&q->ring, more);
	pthread_mutex_unlock(&q->lock);
	return more;
}

/* Requests that were copied in and not yet answered: they wait for a disk or another host. */
static bool some_are_waiting(struct queue *q)
{
	bool some;

	pthread_mutex_lock(&q->lock);
	some = q->ring.rsp_prod_pvt != q->ring.req_cons;
	pthread_mutex_unlock(&q->lock);
	return some;
}

/* True if the worker has something to do. */
static bool is_called(const struct queue *q)
{
	return *(volatile RING_IDX *)&q->ring.sring->req_prod != q->ring.req_cons || halted(q);
}

/* Looks for the next request until the moment `end`. False: none has come. */
static bool spin_until(const struct queue *q, uint64_t end)
{
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (is_called(q))
				return true;
			vread_spin_relax();
		}
		sched_yield(); /* to threads that have something to do */
	} while (clock_measure_ns() < end);
	return false;
}

/*
 * True if there is another request. Looks for it for a short time, in which the frontend need not
 * send an event. A worker that must also listen for answers does not.
 */
static bool next_comes(struct queue *q)
{
	if (is_called(q)) {
		sched_yield(); /* the worker has had no rest */
		return true;
	}
	if (!some_are_waiting(q)) {
		q->idle_since = clock_measure_ns();
		if (q->spin.on && spin_until(q, q->idle_since + VREAD_SPIN_NS))
			return true;
	}
	return has_more(q);
}

/* A request has come. Learns from how long that took. */
static void end_idle(struct queue *q)
{
	if (q->idle_since)
		vread_spin_waited(&q->spin, clock_measure_ns() - q->idle_since);
	q->idle_since = 0;
}

/* Ends the rounds of an event. False: halted. */
static bool drained(struct queue *q)
{
	q->draining = false;
	q->spurious = q->found ? 0 : q->spurious + 1;
	if (q->spurious > SPURIOUS_FREE && !slow_down(q))
		return false;
	q->conn->ops->event_rearm(q->conn, q->index);
	return true;
}

/* Begins the next round, or ends the rounds if the ring is empty. False: halted. */
static bool next_round(struct queue *q)
{
	const char *reason;

	if (halted(q))
		return false;
	if (!q->first_round && !next_comes(q))
		return drained(q);
	q->first_round = false;
	q->next = q->count = 0;
	pthread_mutex_lock(&q->lock);
	reason = copy_in(q);
	pthread_mutex_unlock(&q->lock);
	if (reason) {
		broken(q, reason);
		return false;
	}
	q->found |= q->count > 0;
	if (q->count > 0)
		end_idle(q);
	return true;
}

/* Waits for the next event. False: halted, or the event channel is broken. */
static bool await_event(struct queue *q)
{
	bool event;
	int err;

	if (!wait_for_work(q, &event))
		return false;
	if (!event)
		return true;
	err = q->conn->ops->event_take(q->conn, q->index);
	if (err) {
		log_device(LOG_LEVEL_ERROR, q->conn->name, "queue %u: event channel: %s", q->index,
			   strerror(-err));
		broken(q, "event channel is broken");
		return false;
	}
	q->draining = q->first_round = true;
	q->found = false;
	return true;
}

/* One step of the worker that has the turn. False: end the workers. */
static bool step(struct queue *q, struct dispatch_scratch *scratch)
{
	struct vread_request request;

	if (!answer_remote(q))
		return false;
	if (q->next < q->count) {
		request = q->batch[q->next++]; /* the batch belongs to the turn */
		return serve(q, scratch, &request);
	}
	return q->draining ? next_round(q) : await_event(q);
}

static void await_begin(struct queue *q)
{
	if (q->begun)
		return;
	pthread_mutex_lock(&q->shared->starting);
	pthread_mutex_unlock(&q->shared->starting);
	q->begun = true;
}

/* The serve() of struct hands_work: steps until the worker has lost its turn. */
static bool work(void *queue, struct hand *hand)
{
	struct dispatch_scratch *scratch = hand_memory(hand);
	struct queue *q = queue;

	await_begin(q);
	scratch->remote = q->remote;
	while (step(q, scratch))
		if (!hand_has_turn(hand))
			return true;
	return false;
}

static void queue_free(struct queue *q)
{
	remote_free(q->remote);
	pthread_mutex_destroy(&q->lock);
	free(q->batch);
	free(q->in_flight);
	free(q);
}

static void want_hand(void *queue)
{
	const struct queue *q = queue;

	sem_post(q->shared->keeper);
}

void queue_add_hand(struct queue *q)
{
	hands_add(q->hands);
}

static int start_hands(struct queue *q)
{
	const struct hands_work w = {
		.serve = work,
		.want_hand = want_hand,
		.ctx = q,
		.name = q->conn->name,
		.memory = sizeof(struct dispatch_scratch),
		.spare = &q->shared->spare_hands,
	};

	return hands_start(&q->hands, &w);
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
	pthread_mutex_init(&q->lock, NULL);
	q->spin = vread_spin_new(sysconf(_SC_NPROCESSORS_ONLN));
	BACK_RING_INIT(&q->ring, (vread_sring_t *)pq->sring, pq->ring_bytes);
	q->batch = calloc(RING_SIZE(&q->ring), sizeof(*q->batch));
	q->in_flight = calloc(RING_SIZE(&q->ring), 1);
	err = q->batch && q->in_flight ? 0 : -ENOMEM;
	if (!err && shared->dispatch.peers)
		err = remote_new(&shared->dispatch, RING_SIZE(&q->ring), &q->remote);
	if (!err)
		err = start_hands(q);
	if (err) {
		queue_free(q);
		return err;
	}
	*ret = q;
	return 0;
}

void queue_join(struct queue *q)
{
	hands_join(q->hands);
	queue_free(q);
}
