/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - requests in flight: slots, room in the slice, waiting.
 *
 * One lock covers a connection; it is never held while sleeping, copying data
 * or executing a transport's call().  Completions are taken by whoever waits:
 * the first waiter becomes the leader and sleeps on the transport, the
 * others sleep on their own condition and are woken one by one as their
 * requests complete; a leader that leaves hands its place on.  There is no thread
 * of the library's own.
 *
 * A backend that answers nothing for patience_ms while anything is awaited
 * of it hangs, and then everybody gives up: whoever comes late does not wait all over again.
 *
 * A request lives in a slot:
 *
 *   FREE -> FLYING -> DONE -> FREE        (freed by engine_release)
 *              \-> ABANDONED -> FREE      (freed by its late completion)
 *
 * Its pages of the slice stay reserved as long as the slot: a late READ can
 * only write where nobody looks.
 */
#ifndef LIBVREAD_ENGINE_H
#define LIBVREAD_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "slice.h"
#include "transport.h"

struct vread_file;

enum request_state { REQUEST_FREE, REQUEST_FLYING, REQUEST_DONE, REQUEST_ABANDONED };

struct request {
	struct op op;
	enum request_state state;
	uint32_t generation;  /* counts uses of the slot */
	struct request *next; /* in the free list or the queue of asynchronous completions */

	/* asynchronous reads (vread_submit) only */
	bool async;
	bool delivered; /* reaped, not yet released */
	struct vread_file *file;
	void *cookie;
};

/* A sleeping thread and what it waits for; lives on its stack. */
struct waiter {
	struct waiter *next, *prev;
	pthread_cond_t cond;
	const struct request *request; /* done; or */
	bool async;                    /* any asynchronous completion; or */
	uint64_t room_count;           /* slots or pages freed since */
	unsigned batch;                /* wakes best after so many completions; 0: 1 */
};

struct engine {
	struct transport *transport;
	pthread_mutex_t lock;
	struct waiter waiters; /* list head */
	struct waiter *leader;
	unsigned leader_batch; /* how many completions it sleeps for */
	int kick_fd;           /* wakes a leader for other than completions */
	bool lost;             /* there was no backend when completions were last taken */
	bool dead;             /* lost for good */
	uint64_t room_count;
	unsigned in_flight;
	unsigned awaited;     /* of those, not abandoned; and calls */
	uint64_t heard_ns;    /* when the backend last answered, or something began to be awaited */
	unsigned patience_ms; /* silence after which nobody waits any longer */
	unsigned spin_ns;     /* how long a leader spins before it sleeps */
	bool event_fd_used;
	int async_event_fd; /* readable while the asynchronous queue is not empty; or -1 */
	unsigned async_in_flight;
	struct request *async_first, **async_last;
	struct request *free_requests;
	/* Frees room held by idle read-ahead; returns false if there was none. */
	bool (*reclaim)(struct engine *e);
	struct slice slice;
	struct request requests[TRANSPORT_MAX_OPS];
};

int engine_init(struct engine *e, struct transport *transport, unsigned patience_ms,
		bool (*reclaim)(struct engine *));
void engine_destroy(struct engine *e, bool shared);

static inline void engine_lock(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
}
static inline void engine_unlock(struct engine *e)
{
	pthread_mutex_unlock(&e->lock);
}

/* Executes op through the transport's call(), and returns what that does.  Not locked. */
int engine_call(struct engine *e, struct op *op);

/* All that follow are called with the lock held; for deadlines see clock.h. */

/* Takes a slot and pages for `bytes`.  -EAGAIN if there is no room now,
 * -EINVAL if there never will be, -ENOTCONN. */
int engine_take(struct engine *e, size_t bytes, struct request **ret);
/* The same, waiting for room.  -ETIME.  Only for callers that hold no room themselves. */
int engine_take_wait(struct engine *e, size_t bytes, uint64_t deadline, struct request **ret);
/* Starts a taken request whose op has been filled in (but slot and slice range). */
void engine_start(struct engine *e, struct request *r);
/* Hands started requests to the backend. */
void engine_flush(struct engine *e);
/* Until the request is done: 0, its outcome in r->op; or -ETIME, and it flies
 * on.  batch: how many of the caller's requests may as well be done by then;
 * each wake-up it saves is one the backend need not make. */
int engine_wait(struct engine *e, const struct request *r, unsigned batch, uint64_t deadline);
/* Lets go of a request in whatever state. */
void engine_release(struct engine *e, struct request *r);
/* Lets go of a handle without waiting for anything; false: no slot, try later. */
bool engine_drop_handle(struct engine *e, uint32_t handle);
/* Until there is an asynchronous completion, no backend, or the deadline has passed. */
void engine_wait_async(struct engine *e, uint64_t deadline);
/* The next asynchronous completion (DONE, to be released), or NULL. */
struct request *engine_next_async(struct engine *e);
/* Takes completions without sleeping, unless a leader is at it. */
void engine_poll(struct engine *e);

static inline const uint8_t *engine_data(const struct engine *e, const struct request *r)
{
	return e->transport->slice + r->op.slice_offset;
}

#endif
