/* SPDX-License-Identifier: Apache-2.0 */
/* Implements engine.h: slots, completions, and the leader among the waiting threads. */
#include "engine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"

#define REAP_MAX 32

int engine_init(struct engine *e, struct transport *transport, unsigned patience_ms,
		bool (*reclaim)(struct engine *, bool needed))
{
	memset(e, 0, sizeof(*e));
	e->transport = transport;
	e->patience_ms = patience_ms;
	e->reclaim = reclaim;
	e->async_event_fd = -1;
	e->async_last = &e->async_first;
	e->waiters.next = e->waiters.prev = &e->waiters;
	e->spin = vread_spin_new(sysconf(_SC_NPROCESSORS_ONLN));
	slice_init(&e->slice, slice_pages(transport->slice_bytes));
	for (unsigned i = transport->max_ops; i-- > 0;) {
		e->requests[i].next = e->free_requests;
		e->free_requests = &e->requests[i];
	}
	e->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->kick_fd < 0)
		return -errno;
	pthread_mutex_init(&e->lock, NULL);
	return 0;
}

void engine_destroy(struct engine *e, bool shared)
{
	e->transport->ops->destroy(e->transport, shared);
	close(e->kick_fd);
	if (e->async_event_fd >= 0)
		close(e->async_event_fd);
	if (shared)
		return; /* a thread of the parent process may have held the lock */
	pthread_mutex_destroy(&e->lock);
}

static void signal_fd(int fd)
{
	uint64_t one = 1;

	/* Can only fail if the counter is full, and then the descriptor is readable anyway. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static void drain_fd(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

/* ---- waiters ------------------------------------------------------------- */

static bool satisfied(const struct engine *e, const struct waiter *w)
{
	if (w->request)
		return w->request->state == REQUEST_DONE;
	if (w->async)
		return e->async_first || e->lost;
	return w->room_count != e->room_count || e->lost;
}

static void kick_leader(struct engine *e)
{
	e->kicked = true;
	signal_fd(e->kick_fd);
}

/* Wakes all threads whose wait is over, and those that are about to give up. */
static void wake(struct engine *e)
{
	for (struct waiter *w = e->waiters.next; w != &e->waiters; w = w->next) {
		if (!satisfied(e, w) && !w->late)
			continue;
		if (w == e->leader)
			kick_leader(e);
		else
			pthread_cond_signal(&w->cond);
	}
}

static void enter(struct engine *e, struct waiter *w)
{
	pthread_cond_init(&w->cond, NULL);
	w->next = &e->waiters;
	w->prev = e->waiters.prev;
	w->prev->next = w->next->prev = w;
}

/* Removes w from the list.  If there is no leader now, wakes the next thread, which will lead. */
static void leave(struct engine *e, struct waiter *w)
{
	w->prev->next = w->next;
	w->next->prev = w->prev;
	pthread_cond_destroy(&w->cond);
	if (!e->leader && e->waiters.next != &e->waiters)
		pthread_cond_signal(&e->waiters.next->cond);
}

/* ---- silence ------------------------------------------------------------- */

static void await(struct engine *e)
{
	if (!e->awaited++)
		e->heard_ns = vclock_now();
}

/* When a wait ends: at `deadline`, or earlier if the backend has been silent for patience_ms. */
static uint64_t give_up_at(const struct engine *e, uint64_t deadline)
{
	uint64_t silent = e->heard_ns + e->patience_ms * VCLOCK_NS_PER_MS;

	return e->awaited && silent < deadline ? silent : deadline;
}

/* ---- completions --------------------------------------------------------- */

/* Before the pages of a request are used again.  Keys of block tokens are wiped first: the backend
 * can read the slice at any time. */
static void give_pages(struct engine *e, struct request *r)
{
	if (r->op.slice_length && r->op.kind == VREAD_OP_KEYS && e->transport->ops->wipe)
		e->transport->ops->wipe(e->transport, r->op.slice_offset, r->op.slice_length);
	if (r->op.slice_length)
		slice_give(&e->slice, r->op.slice_offset / VREAD_PAGE_SIZE,
			   r->op.slice_length / VREAD_PAGE_SIZE);
	r->op.slice_offset = r->op.slice_length = 0;
}

static void put_free(struct engine *e, struct request *r)
{
	give_pages(e, r);
	r->state = REQUEST_FREE;
	r->generation++;
	r->next = e->free_requests;
	e->free_requests = r;
	e->room_count++;
}

static void queue_async(struct engine *e, struct request *r)
{
	e->async_in_flight--;
	r->next = NULL;
	*e->async_last = r;
	e->async_last = &r->next;
	if (e->async_event_fd >= 0)
		signal_fd(e->async_event_fd);
}

/* For the late answer to an abandoned OPEN: sends a CLOSE, so that the handle does not stay open.
 * True: the request is in flight again. */
static bool close_late_open(struct engine *e, struct request *r)
{
	if (r->op.kind != VREAD_OP_OPEN || r->op.status < 0 || e->dead)
		return false;
	give_pages(e, r);
	r->op.kind = VREAD_OP_CLOSE;
	e->transport->ops->start(e->transport, &r->op);
	e->transport->ops->flush(e->transport);
	e->in_flight++;
	return true;
}

static int32_t checked_status(const struct op *op, int32_t status)
{
	if (status < -4095)
		return -EIO;
	if (op->kind == VREAD_OP_READ && status > 0 && (uint32_t)status > op->length)
		return -EIO;
	return status;
}

static void complete(struct engine *e, struct request *r, const struct op_done *done)
{
	e->in_flight--;
	if (r->state == REQUEST_FLYING)
		e->awaited--;
	r->op.status = checked_status(&r->op, done->status);
	if (r->op.kind == VREAD_OP_OPEN)
		r->op.handle = done->handle;
	r->op.flags = done->flags;
	r->op.block_length = done->block_length;
	r->op.block_genstamp = done->block_genstamp;
	r->op.crc32c = done->crc32c;
	if (r->state == REQUEST_ABANDONED) {
		if (r->async)
			e->async_in_flight--;
		if (!close_late_open(e, r))
			put_free(e, r);
		return;
	}
	r->state = REQUEST_DONE;
	if (r->async)
		queue_async(e, r);
}

/* The backend is gone.  Completes everything in flight with -ENOTCONN. */
static void fail_all(struct engine *e)
{
	const struct op_done lost = {.status = -ENOTCONN};

	if (!e->transport->reconnects)
		e->dead = true;
	for (unsigned i = 0; i < e->transport->max_ops && e->in_flight; i++) {
		struct request *r = &e->requests[i];
		if (r->state == REQUEST_FLYING || r->state == REQUEST_ABANDONED)
			complete(e, r, &lost);
	}
}

static void reap_all(struct engine *e)
{
	struct op_done done[REAP_MAX];
	int n;

	do {
		n = e->transport->ops->reap(e->transport, done, REAP_MAX);
		if (n > 0)
			e->heard_ns = vclock_now();
		for (int i = 0; i < n; i++)
			complete(e, &e->requests[done[i].slot], &done[i]);
	} while (n == REAP_MAX);
	e->lost = n == -ENOTCONN;
	if (e->lost)
		fail_all(e);
}

static void reap(struct engine *e)
{
	e->reaps++;
	reap_all(e);
	/* A program that polls the event descriptor needs an event for the next completion.  One
	 * more reap_all() is enough: completions that come after arm() raise an event. */
	if (e->event_fd_used && !e->lost && e->transport->ops->arm(e->transport))
		reap_all(e);
	wake(e);
}

void engine_poll(struct engine *e)
{
	if (!e->leader)
		reap(e);
}

/* ---- waiting ------------------------------------------------------------- */

/* Spins until there is a completion.  False: none came in time. */
static bool spin(struct engine *e, uint64_t began)
{
	struct transport *t = e->transport;

	if (!t->ops->ready || !e->spin.on)
		return false;
	do {
		for (int i = 0; i < 32; i++) {
			if (t->ops->ready(t))
				return true;
			vread_spin_relax();
		}
		sched_yield(); /* to threads that have something to do */
	} while (vclock_spinning() < began + VREAD_SPIN_NS);
	return false;
}

static void spin_or_sleep(struct engine *e, unsigned batch, uint64_t deadline, bool brief)
{
	uint64_t began = vclock_spinning();

	/* A brief wait in which nothing happens is only a part of a wait, and says nothing. */
	if (spin(e, began) ||
	    e->transport->ops->wait(e->transport, e->kick_fd, batch, deadline, brief))
		vread_spin_waited(&e->spin, vclock_spinning() - began);
}

static void lead(struct engine *e, struct waiter *w, uint64_t deadline, bool brief)
{
	unsigned batch = w->batch ?: 1;

	/* A leader may sleep through completions only if all of them are its own. */
	if (w->next != w->prev || e->event_fd_used)
		batch = 1;
	else if (batch > e->in_flight)
		batch = e->in_flight ?: 1;
	e->leader = w;
	e->leader_batch = batch;
	engine_unlock(e);
	spin_or_sleep(e, batch, deadline, brief);
	engine_lock(e);
	e->leader = NULL;
	if (e->kicked)
		drain_fd(e->kick_fd);
	e->kicked = false;
	reap(e);
}

static void follow(struct engine *e, struct waiter *w, uint64_t deadline, bool brief)
{
	/* The leader is no longer alone.  Wake it, so that it waits for single completions. */
	if (e->leader_batch > 1) {
		e->leader_batch = 1;
		kick_leader(e);
	}
	vclock_cond_wait(&w->cond, &e->lock, deadline, brief);
}

/* Asks the caller whether this thread shall go on.  Releases the lock meanwhile, because a JVM may
 * keep the thread until a garbage collection is over. */
static bool ask_interrupted(struct engine *e, struct waiter *w)
{
	bool interrupted;

	engine_unlock(e);
	interrupted = e->interrupted(e->interrupted_opaque);
	engine_lock(e);
	w->asked_ns = vclock_spinning();
	return interrupted;
}

/* Called when w's time is over. True: completions were taken since. Until then w must not give up:
 * this thread, or the whole machine, may have been stopped for long, and the answer be there. */
static bool reaped_since(struct engine *e, struct waiter *w)
{
	if (!w->late)
		w->reaps = e->reaps;
	w->late = true;
	engine_poll(e);
	if (e->reaps == w->reaps) {
		kick_leader(e);
		vclock_cond_wait(&w->cond, &e->lock, UINT64_MAX, true);
	}
	return e->reaps != w->reaps;
}

/* patient: waits until the deadline even if the backend is silent or the thread interrupted. */
static int wait_for(struct engine *e, struct waiter *w, uint64_t deadline, bool patient)
{
	const bool brief = e->interrupted && !patient;
	int r = 0;

	if (satisfied(e, w))
		return 0;
	engine_poll(e);
	if (satisfied(e, w))
		return 0;
	enter(e, w);
	if (brief)
		w->asked_ns = vclock_spinning();
	while (!r && !satisfied(e, w)) {
		uint64_t end = patient ? deadline : give_up_at(e, deadline);

		w->late &= vclock_now() >= end; /* an answer to another thread ends the silence */
		if (vclock_now() >= end)
			r = reaped_since(e, w) && !satisfied(e, w) ? -ETIME : 0;
		else if (brief && vclock_spinning() - w->asked_ns >= VCLOCK_BRIEF_NS)
			r = ask_interrupted(e, w) && !satisfied(e, w) ? -EINTR : 0;
		else if (e->leader)
			follow(e, w, end, brief);
		else
			lead(e, w, end, brief);
	}
	leave(e, w);
	return r;
}

int engine_wait(struct engine *e, const struct request *r, unsigned batch, uint64_t deadline)
{
	struct waiter w = {.request = r, .batch = batch};

	return wait_for(e, &w, deadline, false);
}

void engine_wait_async(struct engine *e, uint64_t deadline)
{
	struct waiter w = {.async = true};

	if (e->lost && !e->dead)
		engine_poll(e); /* the backend may be back */
	wait_for(e, &w, deadline, true);
}

void engine_rest(struct engine *e, bool rest)
{
	if (e->event_fd_used)
		e->transport->ops->rest(e->transport, rest);
}

/* Removes *p, one of the asynchronous completions, from their queue. */
static void unqueue(struct engine *e, struct request **p)
{
	struct request *r = *p;

	*p = r->next;
	if (e->async_last == &r->next)
		e->async_last = p;
	if (!e->async_first && e->async_event_fd >= 0)
		drain_fd(e->async_event_fd);
}

struct request *engine_next_async(struct engine *e)
{
	struct request *r = e->async_first;

	if (!r)
		return NULL;
	unqueue(e, &e->async_first);
	r->delivered = true;
	return r;
}

/* ---- requests ------------------------------------------------------------ */

static int take_room(struct engine *e, uint32_t pages, uint32_t *ret_first)
{
	if (!e->free_requests)
		return -EAGAIN;
	return pages ? slice_take(&e->slice, pages, ret_first) : 0;
}

static int take(struct engine *e, size_t bytes, bool needed, struct request **ret)
{
	uint32_t first = 0, pages = slice_pages(bytes);
	struct request *request;
	int r;

	if (e->dead)
		return -ENOTCONN;
	r = take_room(e, pages, &first);
	if (r == -EAGAIN) {
		engine_poll(e);
		r = take_room(e, pages, &first);
	}
	while (r == -EAGAIN && e->reclaim(e, needed))
		r = take_room(e, pages, &first);
	if (r)
		return e->dead ? -ENOTCONN : r;
	request = e->free_requests;
	e->free_requests = request->next;
	request->op = (struct op){
		.slot = (uint32_t)(request - e->requests),
		.slice_offset = first * VREAD_PAGE_SIZE,
		.slice_length = pages * VREAD_PAGE_SIZE,
	};
	request->async = request->delivered = request->checked = false;
	*ret = request;
	return 0;
}

int engine_take(struct engine *e, size_t bytes, struct request **ret)
{
	return take(e, bytes, true, ret);
}

int engine_take_ahead(struct engine *e, size_t bytes, struct request **ret)
{
	return take(e, bytes, false, ret);
}

int engine_take_wait(struct engine *e, size_t bytes, uint64_t deadline, struct request **ret)
{
	for (;;) {
		struct waiter w = {0};
		int r = engine_take(e, bytes, ret);

		if (r != -EAGAIN)
			return r;
		if (e->lost)
			return -ENOTCONN;
		w.room_count = e->room_count;
		r = wait_for(e, &w, deadline, false);
		if (r)
			return r;
	}
}

void engine_start(struct engine *e, struct request *r)
{
	r->state = REQUEST_FLYING;
	e->in_flight++;
	await(e);
	e->lost = e->dead; /* a device may have a backend again by now */
	if (r->async)
		e->async_in_flight++;
	e->transport->ops->start(e->transport, &r->op);
}

void engine_flush(struct engine *e)
{
	if (!e->transport->ops->flush(e->transport))
		return;
	/* The leader sleeps until there is a completion.  Wake the leader, so that it reaps, and
	 * waits for room, too. */
	if (e->leader)
		kick_leader(e);
	else
		reap(e);
}

int engine_call(struct engine *e, struct op *op)
{
	uint64_t deadline;
	int r;

	engine_lock(e);
	if (e->awaited)
		engine_poll(e); /* answers that nobody has taken yet are not silence */
	await(e);
	deadline = give_up_at(e, UINT64_MAX);
	engine_unlock(e);
	r = e->transport->ops->call(e->transport, op, deadline);
	engine_lock(e);
	e->awaited--;
	if (r != -ETIME)
		e->heard_ns = vclock_now();
	engine_unlock(e);
	return r;
}

static void unqueue_async(struct engine *e, struct request *r)
{
	struct request **p = &e->async_first;

	while (*p && *p != r)
		p = &(*p)->next;
	if (*p)
		unqueue(e, p);
}

void engine_release(struct engine *e, struct request *r)
{
	switch (r->state) {
	case REQUEST_FLYING:
		e->awaited--;
		r->state = REQUEST_ABANDONED;
		return;
	case REQUEST_DONE:
		if (r->async && !r->delivered)
			unqueue_async(e, r);
		put_free(e, r);
		wake(e);
		return;
	default:
		return;
	}
}

bool engine_drop_handle(struct engine *e, uint32_t handle)
{
	struct request *r;

	if (e->dead)
		return true;
	if (e->transport->ops->drop_handle) {
		e->transport->ops->drop_handle(e->transport, handle);
		return true;
	}
	if (engine_take(e, 0, &r))
		return e->dead;
	r->op.kind = VREAD_OP_CLOSE;
	r->op.handle = handle;
	engine_start(e, r);
	engine_release(e, r);
	engine_flush(e);
	return true;
}
