// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements hands.h: threads of a queue that take turns. queue.c calls it.
 *
 * The lock is taken only when the turn changes hands. Nothing waits with the lock held, no thread
 * is started, and no other lock is taken under it. So a hand may lose its turn wherever a read
 * begins to wait, whatever locks it holds.
 */
#include "ring/hands.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/waiting.h"

#define SIGNAL_PAUSE_MS 50 /* time for a hand to see that it must end */

struct hand {
	struct hands *all;
	pthread_t thread;
	sem_t ended;   /* posted by the thread as its last act */
	bool has_turn; /* used by the thread only */
	void *memory;
};

struct hands {
	struct hands_work work;
	pthread_mutex_t lock; /* protects the fields down to `count` */
	pthread_cond_t free;  /* the turn is free, or the hands must end */
	bool turn_taken, ending;
	bool wanted; /* the turn was given away, and no hand was idle */
	unsigned idle, count;
	/* The rest belongs to the keeper. */
	bool refused; /* a thread could not be started, and the log says so */
	struct hand *hand[HANDS_MOST];
};

/* ---- the life of a hand -------------------------------------------------------------- */

/* Waits for the turn. False: the hand must end. */
static bool take_turn(struct hand *h)
{
	struct hands *s = h->all;

	pthread_mutex_lock(&s->lock);
	s->idle++;
	while (s->turn_taken && !s->ending)
		pthread_cond_wait(&s->free, &s->lock);
	s->idle--;
	h->has_turn = !s->ending;
	s->turn_taken |= h->has_turn;
	pthread_mutex_unlock(&s->lock);
	return h->has_turn;
}

static void end_all(struct hands *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->free);
	pthread_mutex_unlock(&s->lock);
}

static void give_turn(void *hand);

static void *run(void *hand)
{
	struct hand *h = hand;
	struct hands *s = h->all;

	waiting_set_hook(give_turn, h);
	while (take_turn(h))
		if (!s->work.serve(s->work.ctx, h))
			end_all(s);
	sem_post(&h->ended);
	return NULL;
}

static int hand_new(struct hands *s, struct hand **ret)
{
	struct hand *h = calloc(1, sizeof(*h));
	int r = -ENOMEM;

	if (!h)
		return r;
	h->all = s;
	h->memory = calloc(1, s->work.memory);
	sem_init(&h->ended, 0, 0);
	if (h->memory)
		r = -pthread_create(&h->thread, NULL, run, h);
	if (r < 0) {
		sem_destroy(&h->ended);
		free(h->memory);
		free(h);
		return r;
	}
	*ret = h;
	return 0;
}

/* ---- the turn ------------------------------------------------------------------------ */

static bool take_spare(atomic_uint *spare)
{
	unsigned left = atomic_load(spare);

	while (left > 0)
		if (atomic_compare_exchange_weak(spare, &left, left - 1))
			return true;
	return false;
}

/* True if nobody will take the turn, and there may be one more hand. The keeper calls it, who alone
 * changes `count`. */
static bool is_wanted(struct hands *s)
{
	bool wanted;

	pthread_mutex_lock(&s->lock);
	wanted = s->wanted && !s->turn_taken && !s->idle && !s->ending && s->count < HANDS_MOST;
	s->wanted = false;
	pthread_mutex_unlock(&s->lock);
	return wanted;
}

void hands_add(struct hands *s)
{
	int r;

	if (!is_wanted(s) || !take_spare(s->work.spare))
		return;
	r = hand_new(s, &s->hand[s->count]);
	if (r == 0) {
		pthread_mutex_lock(&s->lock);
		s->count++;
		pthread_mutex_unlock(&s->lock);
		return;
	}
	atomic_fetch_add(s->work.spare, 1);
	if (!s->refused)
		log_device(LOG_LEVEL_WARN, s->work.name,
			   "cannot start one more thread for a queue (%s): a slow disk delays all "
			   "requests of that queue",
			   strerror(-r));
	s->refused = true;
}

/* The hook of waiting.h: the thread of this hand is about to wait. */
static void give_turn(void *hand)
{
	struct hand *h = hand;
	struct hands *s = h->all;
	bool wanted;

	if (!h->has_turn)
		return;
	h->has_turn = false;
	pthread_mutex_lock(&s->lock);
	s->turn_taken = false;
	wanted = s->wanted = !s->idle && s->count < HANDS_MOST && atomic_load(s->work.spare) > 0;
	if (s->idle)
		pthread_cond_signal(&s->free);
	pthread_mutex_unlock(&s->lock);
	if (wanted)
		s->work.want_hand(s->work.ctx);
}

bool hand_has_turn(const struct hand *h)
{
	return h->has_turn;
}

void *hand_memory(const struct hand *h)
{
	return h->memory;
}

/* ---- the beginning and the end ------------------------------------------------------- */

static void hands_free(struct hands *s)
{
	pthread_cond_destroy(&s->free);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int hands_start(struct hands **ret, const struct hands_work *work)
{
	struct hands *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->work = *work;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->free, NULL);
	r = hand_new(s, &s->hand[0]);
	if (r < 0) {
		hands_free(s);
		return r;
	}
	s->count = 1;
	*ret = s;
	return 0;
}

/*
 * A frontend that shares a file descriptor with vreadd can make a notification block. A signal ends
 * the blocked call. The handler of SIGURG does nothing.
 */
static void join(struct hand *h)
{
	do
		pthread_kill(h->thread, SIGURG);
	while (!clock_rest_sem(&h->ended, SIGNAL_PAUSE_MS));
	pthread_join(h->thread, NULL);
	sem_destroy(&h->ended);
	free(h->memory);
	free(h);
}

void hands_join(struct hands *s)
{
	end_all(s);
	for (unsigned i = 0; i < s->count; i++)
		join(s->hand[i]);
	atomic_fetch_add(s->work.spare, s->count - 1);
	hands_free(s);
}
