/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - one ring and the thread that owns it. session.c starts and ends the thread.
 *
 * The thread waits for events, copies requests in, has dispatch.h carry them out, and puts
 * responses on the ring. A frontend that breaks the rules of the ring is reported once with
 * port_conn's fail(). From then on no queue of the device answers anything.
 */
#ifndef VREAD_QUEUE_H
#define VREAD_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ring/dispatch.h"

/* Shared by the queues of one session. */
struct queue_shared {
	struct dispatch dispatch;
	atomic_bool halt; /* stopping, or the protocol was broken */
	int halt_fd;      /* eventfd, readable once halt is set */
	/* Locked while the workers are started. A worker begins to work when it is free. */
	pthread_mutex_t starting;
};

struct queue;

/* Starts the worker of queue `index`; 0 or negative errno. */
int queue_start(struct queue **ret, struct queue_shared *shared, unsigned index);
/*
 * Waits for the worker to end, and frees q. shared->halt must be set before the call. The wait has
 * no limit: the worker may be in a read of a disk that hangs.
 */
void queue_join(struct queue *q);

#endif
