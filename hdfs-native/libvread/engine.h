/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the requests in flight of a connection: their slots, their room in the slice, and
 * waiting for them.  All files of libvread that send requests call it.
 *
 * One lock protects a connection.  No thread holds the lock while it sleeps, copies data or
 * executes a transport's call().  The library has no threads of its own: threads that wait take
 * the completions.  The first waiting thread becomes the leader and sleeps on the transport.  The
 * other threads sleep on their own conditions, and each is woken when its request completes.  A
 * leader that leaves passes the lead on.
 *
 * If the backend answers nothing for patience_ms while an answer is awaited, it counts as hung.
 * All threads then give up, also a thread that began to wait a moment ago.
 *
 * A caller can end the waits of its threads: a thread that waits longer than VCLOCK_BRIEF_NS asks
 * `interrupted` now and then, without the lock, and gives up if the answer is yes.  A request that
 * its thread gave up, for this or for a timeout, stays in flight.
 *
 * A request lives in a slot:
 *
 *   FREE -> FLYING -> DONE -> FREE        (freed by engine_release)
 *              \-> ABANDONED -> FREE      (freed by its late completion)
 *
 * The pages of a request in the slice stay reserved as long as its slot.  So a late READ writes
 * only to pages that nobody reads.
 */
#ifndef LIBVREAD_ENGINE_H
#define LIBVREAD_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "slice.h"
#include "transport.h"
#include "vread-spin.h"

struct vread_file;

enum request_state { REQUEST_FREE, REQUEST_FLYING, REQUEST_DONE, REQUEST_ABANDONED };

struct request {
	struct op op;
	enum request_state state;
	uint32_t generation;  /* counts uses of the slot */
	struct request *next; /* in the free list or the queue of asynchronous completions */
	bool checked;         /* a READ: its bytes in the slice matched their CRC32C (check.h) */

	/* asynchronous reads (vread_submit) only */
	bool async;
	bool delivered; /* reaped, not yet released */
	bool check;     /* compare the bytes with their CRC32C */
	struct vread_file *file;
	void *cookie;
};

/* A waiting thread and what it waits for; on the stack of that thread. */
struct waiter {
	struct waiter *next, *prev;
	pthread_cond_t cond;
	const struct request *request; /* waits until this is done; if NULL: */
	bool async;                    /* waits for any asynchronous completion; if false: */
	uint64_t room_count;           /* waits until the engine's room_count differs */
	unsigned batch;                /* best woken after this many completions; 0: 1 */
	uint64_t asked_ns; /* real time at which the wait began or `interrupted` was last asked */
	bool late;         /* its time is over, and it waits for the next reaping */
	uint64_t reaps;    /* the engine's, when it became late */
};

struct engine {
	struct transport *transport;
	pthread_mutex_t lock;
	struct waiter waiters; /* list head */
	struct waiter *leader;
	unsigned leader_batch; /* how many completions the leader sleeps for */
	int kick_fd;           /* eventfd: wakes the leader for other reasons than completions */
	bool kicked;           /* kick_fd is readable */
	bool lost;             /* there was no backend when completions were last taken */
	bool dead;             /* there is no backend, and none will come back */
	uint64_t room_count;   /* counts freed slots */
	uint64_t reaps;        /* counts how often completions were taken */
	unsigned in_flight;
	unsigned awaited;     /* requests in flight that are not abandoned, plus calls */
	uint64_t heard_ns;    /* time of the last answer, or when `awaited` last left 0 */
	unsigned patience_ms; /* after this silence all waiting threads give up */
	int (*interrupted)(void *opaque); /* of struct vread_options; set after engine_init() */
	void *interrupted_opaque;
	struct vread_spin spin; /* of leaders */
	bool event_fd_used;
	int async_event_fd; /* readable while the asynchronous queue is not empty; -1: none */
	unsigned async_in_flight;
	struct request *async_first, **async_last;
	struct request *free_requests;
	/* Frees room that read-ahead holds: of idle readers, or with `needed` of any reader.
	 * False: none was freed now. */
	bool (*reclaim)(struct engine *e, bool needed);
	struct slice slice;
	struct request requests[TRANSPORT_MAX_OPS];
};

int engine_init(struct engine *e, struct transport *transport, unsigned patience_ms,
		bool (*reclaim)(struct engine *, bool needed));
void engine_destroy(struct engine *e, bool shared);

static inline void engine_lock(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
}
static inline void engine_unlock(struct engine *e)
{
	pthread_mutex_unlock(&e->lock);
}

/* Executes op with the transport's call() and returns the result of call().  Call it without the
 * lock. */
int engine_call(struct engine *e, struct op *op);

/* Call the functions below with the lock held.  Deadlines are those of clock.h. */

/* Takes a slot, and pages for `bytes`.  -EAGAIN: no room now.  -EINVAL: more than the slice.
 * -ENOTCONN. */
int engine_take(struct engine *e, size_t bytes, struct request **ret);
/* As engine_take(), for bytes that nobody waits for: takes room from idle readers only. */
int engine_take_ahead(struct engine *e, size_t bytes, struct request **ret);
/* As engine_take(), but waits for room instead of returning -EAGAIN.  -ETIME, -EINTR.  The caller
 * must hold no room itself, or two callers could wait for each other. */
int engine_take_wait(struct engine *e, size_t bytes, uint64_t deadline, struct request **ret);
/* Starts a taken request.  The caller has filled in r->op, except slot and slice range. */
void engine_start(struct engine *e, struct request *r);
/* Hands started requests to the backend. */
void engine_flush(struct engine *e);
/* Waits until the request is done: 0, with its result in r->op.  -ETIME, -EINTR: the request stays
 * in flight.  batch: how many of the caller's requests may complete before the caller is woken;
 * fewer wake-ups save events of the backend. */
int engine_wait(struct engine *e, const struct request *r, unsigned batch, uint64_t deadline);
/* Gives a request back, in any state.  A request in flight is freed when it completes. */
void engine_release(struct engine *e, struct request *r);
/* Closes a handle at the backend without waiting.  False: no slot is free, try later. */
bool engine_drop_handle(struct engine *e, uint32_t handle);
/* Waits until there is an asynchronous completion, the backend is gone, or the deadline. */
void engine_wait_async(struct engine *e, uint64_t deadline);
/* The program has heard that there is no backend (rest), or has heard anything else.  Of what it
 * knows, the event descriptor tells it no more. */
void engine_rest(struct engine *e, bool rest);
/* Takes the next asynchronous completion from its queue; release it.  NULL: there is none. */
struct request *engine_next_async(struct engine *e);
/* Takes completions without sleeping.  Does nothing if there is a leader, who takes them. */
void engine_poll(struct engine *e);

static inline const uint8_t *engine_data(const struct engine *e, const struct request *r)
{
	return e->transport->slice + r->op.slice_offset;
}

#endif
