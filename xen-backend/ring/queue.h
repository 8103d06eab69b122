/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - one ring and the threads that serve it. session.c starts and ends the threads.
 *
 * A thread waits for events, copies requests in, has dispatch.h carry them out, and puts responses
 * on the ring. There is one such thread while no request waits for a disk, and more take turns with
 * it otherwise (hands.h). A frontend that breaks the rules of the ring is reported once with
 * port_conn's fail(). From then on no queue of the device answers anything.
 */
#ifndef VREAD_QUEUE_H
#define VREAD_QUEUE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "ring/dispatch.h"

/* Shared by the queues of one session. */
struct queue_shared {
	struct dispatch dispatch;
	atomic_bool halt; /* stopping, or the protocol was broken */
	int halt_fd;      /* eventfd, readable once halt is set */
	/* Locked while the workers are started. A worker begins to work when it is free. */
	pthread_mutex_t starting;
	atomic_uint spare_hands; /* how many hands all queues together may still add (hands.h) */
	sem_t *keeper;           /* posted for the thread that is to call queue_add_hand() */
};

struct queue;

/* Starts the first worker of queue `index`; 0 or negative errno. */
int queue_start(struct queue **ret, struct queue_shared *shared, unsigned index);
/* The next two are for one thread, the keeper. Adds a worker if one is wanted. */
void queue_add_hand(struct queue *q);
/*
 * Waits for the workers to end, and frees q. Before the call shared->halt must be set, and requests
 * at other hosts must be stopped (peer_pool_stop()). The wait has no limit: a worker may be in a
 * read of a disk that hangs.
 */
void queue_join(struct queue *q);

#endif
