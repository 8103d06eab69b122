/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hands.h - the threads of one queue. They take turns: the hand that has the turn takes requests
 * from the ring and carries them out. queue.c starts and ends the hands.
 *
 * A hand that is about to wait for a disk (base/waiting.h) loses its turn, and another hand goes
 * on with the other requests. The first hand finishes its own request without the turn, and then
 * waits for the turn again. A hand that never waits keeps its turn, and no other thread is woken.
 *
 *   hand 1   | request a, request b: waits for a disk ........ answers b | idle
 *   hand 2                           | takes the turn: request c, d, e ...
 *
 * A queue begins with one hand. A hand is added when the turn is given away and no hand is idle,
 * up to HANDS_MOST, and as many as the device may have. If no hand can be added, the turn is free
 * until one of the hands comes back and takes it. The hand that gives its turn away may hold locks
 * of whatever it reads through. So it starts no thread and logs nothing: it calls want_hand(), and
 * the keeper, another thread, adds the hand.
 *
 * Threads: see each function.
 */
#ifndef VREAD_RING_HANDS_H
#define VREAD_RING_HANDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define HANDS_MOST 4U /* of one queue */

struct hand;
struct hands;

struct hands_work {
	/*
	 * Called on the thread of a hand that has just got the turn. True: the hand has lost its
	 * turn, and has finished its request. False: all hands must end.
	 */
	bool (*serve)(void *ctx, struct hand *hand);
	/* Calls the keeper, which is to call hands_add() soon. Takes no lock and does not wait. */
	void (*want_hand)(void *ctx);
	void *ctx;
	const char *name;   /* of the device, for the log */
	size_t memory;      /* bytes of private memory of each hand */
	atomic_uint *spare; /* how many more hands all queues of the device may add */
};

/* Starts the first hand. 0 or negative errno. */
int hands_start(struct hands **ret, const struct hands_work *work);
/* Only for the keeper: adds a hand if one is wanted. */
void hands_add(struct hands *s);
/*
 * Only for the keeper: waits for the end of all hands, and frees s. From now on no idle hand gets
 * the turn, and work.serve() must return false soon. The wait has no limit: a hand may be in a
 * read of a disk that hangs.
 */
void hands_join(struct hands *s);

/* On the hand's own thread. True: no other hand uses what belongs to the turn. */
bool hand_has_turn(const struct hand *h);
/* The private memory of the hand, zeroed when the hand was started. */
void *hand_memory(const struct hand *h);

#endif
