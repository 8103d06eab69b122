/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue.h - one ring and the thread that owns it.
 *
 * The thread waits for events, copies requests in, has them carried out and
 * puts responses on the ring.  A frontend that breaks the ring's rules is
 * reported once with port_conn's fail(); from then on none of the device's
 * queues answers anything.
 */
#ifndef VREAD_QUEUE_H
#define VREAD_QUEUE_H

#include <stdatomic.h>

#include "ring/dispatch.h"

/* What the queues of one session share. */
struct queue_shared {
	struct dispatch dispatch;
	atomic_bool halt; /* stopping, or the protocol was broken */
	int halt_fd;      /* eventfd, readable once halt is set */
};

struct queue;

/* Starts the worker of queue `index`; 0 or negative errno. */
int queue_start(struct queue **ret, struct queue_shared *shared, unsigned index);
/* Waits for the worker, which halt must have been set for, and frees it. */
void queue_join(struct queue *q);

#endif
